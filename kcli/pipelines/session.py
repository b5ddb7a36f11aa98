"""A pipeline's file, Spark and its DataFrames, all checked. Each mistake is one line of the error message.

Exit codes: 2 for mistakes in the file, 3 if there are none but a cluster does not answer.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import NamedTuple

from kcli.failures import Failure, UnreachableFailure, UsageFailure, complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from kspark.pipeline.definition import Pipeline
    from kspark.pipeline.findings import Findings
    from kspark.pipeline.frames import Frames

REMEDY = "Install it with: pip install 'kcore-broker[spark]' (in a clone: pip install '.[spark]', or bin/prepare spark)"


class Declared(NamedTuple):
    """A pipeline's file, and what was found in it without Spark."""

    file: str
    pipeline: Pipeline
    findings: Findings


def declared(
    file: str, servers: str | None = None, properties: dict[str, str] | None = None, master: str | None = None
) -> Declared:
    """Reads and checks a file, with the topics of other brokers if `servers` are given, and with another master if
    `master` is given. Mistakes are collected. Raises UsageFailure if the file is not TOML or `master` is invalid.
    """
    from kspark.pipeline.definition import at_brokers
    from kspark.pipeline.definition import declared as of_file
    from kspark.pipeline.findings import Findings, PipelineError
    from kspark.pipeline.part_options import check_options
    from kspark.pipeline.topics import check_topics
    from kspark.session import master_mistake

    mistake = None if master is None else master_mistake(master)
    if mistake is not None:
        raise UsageFailure(f"--master: {mistake}")
    findings = Findings()
    try:
        pipeline = of_file(file, findings)
    except PipelineError as error:
        raise UsageFailure(f"{file}: {error}") from None
    if servers is not None:
        pipeline = at_brokers(pipeline, servers, properties)
    stated = pipeline.master or pipeline.spark.get("spark.master")
    mistake = None if master is not None or stated is None else master_mistake(stated)
    if mistake is not None:
        findings.mistake("master", mistake)
    pipeline = check_options(pipeline, findings)
    check_topics(pipeline, findings)
    return Declared(file, pipeline, findings)


def require_spark() -> None:
    """Raises Failure if PySpark or Java is missing, before work that needs them later. Starts nothing."""
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
    return Failure(f"pipelines need PySpark ({error}). {REMEDY}")


@contextmanager
def spark_session(found: Declared, master: str | None, *, prints_to_stderr: bool = False) -> Iterator[SparkSession]:
    """A Spark session; its JVM ends with it. If Spark cannot start, the mistakes found so far are reported too."""
    from kspark.java import NoJava

    pipeline = found.pipeline
    if found.findings.has_mistake_in("master"):
        _raise_findings(found)
    try:
        from kspark.pipeline.spark_errors import unlog_query_failures
        from kspark.session import abandon_session, close_session, open_session

        chosen = master or pipeline.master
        session = open_session(
            pipeline.name, chosen, pipeline.spark, starts_quietly=True, prints_to_stderr=prints_to_stderr
        )
    except ImportError as error:
        raise _with_mistakes(found, without_pyspark(error)) from None
    except NoJava as error:
        raise _with_mistakes(found, Failure(str(error))) from None
    try:
        unlog_query_failures(session)
        yield session
    except KeyboardInterrupt:
        # Spark may be in the middle of a call, so nothing more can be asked of it.
        abandon_session()
        raise
    except BaseException:
        close_session(session)
        raise
    close_session(session)


def built(session: SparkSession, found: Declared) -> Frames:
    """The DataFrames of a pipeline. Raises UsageFailure with all mistakes, or UnreachableFailure if there are none but
    a cluster does not answer. Prints warnings to stderr.
    """
    from kspark.pipeline.frames import Frames

    frames = Frames(session, found.pipeline)
    frames.build(found.findings)
    for line in found.findings.warnings:
        complain(f"warning: {found.file}: {line}")
    _raise_findings(found)
    return frames


def require_clusters(found: Declared) -> None:
    """Raises the mistakes found so far if a cluster does not answer, before Spark starts."""
    if found.findings.unreachable:
        _raise_findings(found)


def _raise_findings(found: Declared) -> None:
    mistakes, unreachable = _lines(found)
    if mistakes:
        raise UsageFailure("\n".join([*mistakes, *unreachable]), [*mistakes, *unreachable])
    if unreachable:
        raise UnreachableFailure("\n".join(unreachable), unreachable)


def _with_mistakes(found: Declared, failure: Failure) -> Failure:
    mistakes, _ = _lines(found)
    lines = [*mistakes, str(failure)]
    return UsageFailure("\n".join(lines), lines) if mistakes else failure


def _lines(found: Declared) -> tuple[list[str], list[str]]:
    mistakes, unreachable = (
        [f"{found.file}: {line}" for line in lines] for lines in (found.findings.mistakes, found.findings.unreachable)
    )
    return mistakes, unreachable
