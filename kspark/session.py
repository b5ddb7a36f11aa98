"""A Spark session that finds this package's sources, and Java, wherever it is started."""

from __future__ import annotations

import os
import signal
import sys
import threading

from kspark import jvm
from kspark.java import java_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

LOCAL = "local[*]"
DEFAULTS = {
    "spark.ui.enabled": "false",
    # Its bars would be drawn over what `kcli pipeline` shows.
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Of many small tasks on one machine; a cluster's is its own.
    "spark.sql.shuffle.partitions": "8",
    "spark.log.structuredLogging.enabled": "false",
}


def open_session(
    name: str,
    master: str | None,
    settings: Mapping[str, str],
    *,
    starts_quietly: bool = False,
    prints_to_stderr: bool = False,
) -> SparkSession:
    """NoJava, and what Spark says of a master that cannot be reached.

    A quiet start leaves out the lines of every start. What the JVM prints is then passed on through `sys.stdout`, or
    through `sys.stderr` where it `prints_to_stderr`.
    """
    master = master or settings.get("spark.master") or LOCAL
    _prepare_environment(is_local=master.startswith("local"))
    from pyspark.sql import SparkSession

    chosen = {**DEFAULTS, **settings, "spark.app.name": name, "spark.master": master}
    if starts_quietly:
        jvm.start(chosen, prints_to_stderr=prints_to_stderr)
    builder = SparkSession.builder
    for key, value in chosen.items():
        builder = builder.config(key, value)
    interrupted = signal.getsignal(signal.SIGINT)
    session = builder.getOrCreate()
    if threading.current_thread() is threading.main_thread():
        # PySpark's own answer to Ctrl-C cancels the batch that a query is at.
        signal.signal(signal.SIGINT, interrupted)
    session.sparkContext.setLogLevel("ERROR")
    jvm.opened()
    return session


def close_session(session: SparkSession) -> None:
    """Ends the JVM too, with its Python workers: `stop` alone leaves them until this process ends."""
    session.stop()
    jvm.end()


def abandon_session() -> None:
    """Ends the JVM where nothing more can be asked of it, with all that it is at."""
    jvm.end(0)


def _prepare_environment(*, is_local: bool) -> None:
    """Spark's own processes are started with this environment; a cluster's executors have one of their own."""
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = home
    # Without it workers take whatever `python3` is first in PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1") if is_local else None
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if root not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([root, *paths])
