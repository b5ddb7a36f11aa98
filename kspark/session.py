"""Opens Spark sessions that find this package's sources and a Java."""

from __future__ import annotations

import os
import re
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
# Those of Spark (SparkMasterRegex); local[0] has no thread.
MASTER = re.compile(
    r"local|local\[(\*|0*[1-9]\d*)(\s*,\s*\d+)?\]|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn|spark://.+|k8s://.+"
)
DEFAULTS = {
    "spark.ui.enabled": "false",
    # Progress bars would overwrite the output of `kcli pipeline`.
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # Suits small tasks on one machine. Raise it for a cluster.
    "spark.sql.shuffle.partitions": "8",
    "spark.log.structuredLogging.enabled": "false",
}


def master_mistake(master: str) -> str | None:
    """What is wrong with a master URL, before Spark starts; None if Spark accepts it."""
    if MASTER.fullmatch(master):
        return None
    return f"{master!r} is not a Spark master. Use local, local[N], local[*], spark://HOST:PORT, yarn or k8s://URL"


def open_session(
    name: str,
    master: str | None,
    settings: Mapping[str, str],
    *,
    starts_quietly: bool = False,
    prints_to_stderr: bool = False,
) -> SparkSession:
    """Open a session. Raises NoJava, and Spark's errors such as an unreachable master.

    `starts_quietly` drops the JVM's usual start messages and passes its output through `sys.stdout`, or through
    `sys.stderr` if `prints_to_stderr` is set.
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
        # PySpark's SIGINT handler cancels the running batch of a query.
        signal.signal(signal.SIGINT, interrupted)
    session.sparkContext.setLogLevel("ERROR")
    jvm.opened()
    return session


def close_session(session: SparkSession) -> None:
    """Stop the session and end the JVM with its Python workers. `stop` alone leaves the JVM running."""
    session.stop()
    jvm.end()


def abandon_session() -> None:
    """End the JVM at once, with all its jobs, when the session no longer responds."""
    jvm.end(0)


def _prepare_environment(*, is_local: bool) -> None:
    """Set the environment for Spark's local processes. Executors of a cluster have their own environment."""
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = home
    # Otherwise workers use the first `python3` in PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1") if is_local else None
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if root not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([root, *paths])
