"""A pipeline's file, Spark and its DataFrames, with what can be wrong said as a command says it."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module

from kcli.failures import Failure, UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from kspark.pipeline.definition import Pipeline
    from kspark.pipeline.frames import Frames

REMEDY = "install it with: pip install 'kcore-broker[spark]' (in a clone: pip install '.[spark]', or bin/prepare spark)"


def read(file: str) -> Pipeline:
    """UsageFailure for what cannot be."""
    from kspark.pipeline.definition import PipelineError, read_pipeline

    try:
        return read_pipeline(file)
    except PipelineError as error:
        raise UsageFailure(f"{file}: {error}") from None


def require_spark() -> None:
    """Failure where PySpark or Java is missing; for what would only find it out later. Starts nothing."""
    from kspark.java import NoJava, java_home

    try:
        for name in ("pyspark", "pyarrow"):
            import_module(name)

        java_home()
    except ImportError as error:
        raise without_pyspark(error) from None
    except NoJava as error:
        raise Failure(str(error)) from None


def without_pyspark(error: ImportError) -> Failure:
    return Failure(f"pipelines need PySpark ({error}): {REMEDY}")


@contextmanager
def spark_session(pipeline: Pipeline, master: str | None) -> Iterator[SparkSession]:
    """Ends with its JVM: nothing of it outlives the command."""
    from kspark.java import NoJava

    try:
        from kspark.session import abandon_session, close_session, open_session

        chosen = master or pipeline.master
        session = open_session(pipeline.name, chosen, pipeline.spark, starts_quietly=True)
    except ImportError as error:
        raise without_pyspark(error) from None
    except NoJava as error:
        raise Failure(str(error)) from None
    try:
        yield session
    except KeyboardInterrupt:
        # It may have come while Spark was answering: nothing can be asked of it any more.
        abandon_session()
        raise
    except BaseException:
        close_session(session)
        raise
    close_session(session)


def built(session: SparkSession, pipeline: Pipeline) -> Frames:
    """UsageFailure for a part that cannot be analysed."""
    from kspark.pipeline.definition import PipelineError
    from kspark.pipeline.frames import Frames

    frames = Frames(session, pipeline)
    try:
        frames.build()
    except PipelineError as error:
        raise UsageFailure(str(error)) from None
    return frames
