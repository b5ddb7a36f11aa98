"""Starts Spark's JVM as a child process, without its usual start messages, and ends it.

With PySpark alone, the JVM inherits this process's stdout and stderr. `start` gives it pipes instead. One thread per
pipe writes its lines to the current `sys.stdout` or `sys.stderr`. So a live view, which replaces these streams, is not
overwritten by the rows of a console sink. The usual start messages on stderr are dropped until `opened` is called. The
threads end with the JVM.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TextIO

# The JVM's warnings about modules and native methods, Spark's messages about its logging, and log lines below the level
# of sessions.
OF_EVERY_START = re.compile(
    rb"WARNING: |Using Spark's default log4j profile|Setting default log level to |To adjust logging level use "
    rb"|\d\d/\d\d/\d\d \d\d:\d\d:\d\d (INFO|WARN) "
)
# Marker that `opened` writes into the pipe. No line of the JVM ends like this.
OPENED = b"\0\n"
# The JVM ends after its standard input is closed and its shutdown hooks have removed its files.
END_TIMEOUT_S = 30.0
LAST_LINES_TIMEOUT_S = 5.0

# The outputs of the JVM that this process has started.
_outputs: list[_Output] = []


class _Output:
    """Passes one output of the JVM on to a stream of this process.

    `stream` is called for each line, because `sys.stdout` and `sys.stderr` may be replaced at any time. Lines that
    match `leaves_out` are dropped until `opened` is called.
    """

    def __init__(self, name: str, stream: Callable[[], TextIO | None], leaves_out: re.Pattern[bytes] | None) -> None:
        self._stream = stream
        self._leaves_out = leaves_out
        self._from_jvm, self._to_us = os.pipe()
        self._is_closed = False
        self._thread = threading.Thread(target=self._pass_on, name=name, daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """The file descriptor for the JVM."""
        return self._to_us

    def opened(self) -> None:
        """Stop dropping lines. The marker goes through the pipe, so it takes effect after earlier lines."""
        if not self._is_closed:
            os.write(self._to_us, OPENED)
            self._close()

    def end(self) -> None:
        """Pass on the last lines, after the JVM has ended."""
        if not self._is_closed:
            self._close()
        self._thread.join(LAST_LINES_TIMEOUT_S)

    def _close(self) -> None:
        """Close this process's write end of the pipe; otherwise the thread would never see end of file."""
        self._is_closed = True
        os.close(self._to_us)

    def _pass_on(self) -> None:
        is_open = False
        with open(self._from_jvm, "rb") as lines:
            for line in lines:
                if line.endswith(OPENED):
                    is_open = True
                    line = line.removesuffix(OPENED)
                if line and (is_open or self._leaves_out is None or not self._leaves_out.match(line)):
                    self._write(line.decode(errors="replace"))

    def _write(self, text: str) -> None:
        stream = self._stream()
        if stream is None:
            return
        encoding = stream.encoding or "utf-8"
        # Keep reading if the stream is closed: the JVM would block on a full pipe.
        with suppress(OSError, ValueError):
            stream.write(text.encode(encoding, "replace").decode(encoding))
            stream.flush()


def start(settings: Mapping[str, str], *, prints_to_stderr: bool = False) -> None:
    """Start the JVM for a session with these settings. Does nothing if this process already has a JVM."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    conf = SparkConf().setAll(list(settings.items()))
    printed = _Output("spark-stdout", _stderr if prints_to_stderr else _stdout, None)
    logged = _Output("spark-stderr", _stderr, OF_EVERY_START)
    launch: Any = launch_gateway
    try:
        SparkContext._ensure_initialized(gateway=launch(conf, {"stdout": printed, "stderr": logged}))
    except BaseException:
        for output in (printed, logged):
            output.end()
        raise
    _outputs.extend((printed, logged))


def opened() -> None:
    """Pass on all further lines of the JVM."""
    for output in _outputs:
        output.opened()


def _stdout() -> TextIO | None:
    return sys.stdout


def _stderr() -> TextIO | None:
    return sys.stderr


def end(patience_s: float = END_TIMEOUT_S) -> None:
    """End the JVM and its jobs. It is terminated if it has not ended after `patience_s` seconds."""
    from pyspark import SparkContext

    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        # This process did not start the JVM (spark-submit).
        return
    gateway.shutdown()
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
    for output in _outputs:
        output.end()
    _outputs.clear()
