"""Spark's JVM as a process of this one: started without the lines that every start has, and ended.

PySpark gives the JVM this process's stderr. `start` gives it a pipe instead, whose lines a thread passes on: all of
them once `opened` was called, and before that those that are not of every start. The thread ends with the JVM.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The JVM's own warnings of modules and native methods, what Spark says of its logging before it is set, and log lines
# below the level that sessions have.
OF_EVERY_START = re.compile(
    rb"WARNING: |Using Spark's default log4j profile|Setting default log level to |To adjust logging level use "
    rb"|\d\d/\d\d/\d\d \d\d:\d\d:\d\d (INFO|WARN) "
)
# No line of the JVM's ends so.
OPENED = b"\0\n"
# The JVM ends by itself once its standard input does, when its shutdown hooks have removed its files.
END_TIMEOUT_S = 30.0
LAST_LINES_TIMEOUT_S = 5.0

# Of the JVM that this process has started.
_lines: _Lines | None = None


class _Lines:
    """From the JVM to this process's stderr."""

    def __init__(self) -> None:
        self._from_jvm, self._to_us = os.pipe()
        self._is_closed = False
        self._thread = threading.Thread(target=self._pass_on, name="spark-stderr", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """What the JVM is given as its stderr."""
        return self._to_us

    def opened(self) -> None:
        """In the pipe too, so that it comes behind what was written before."""
        if not self._is_closed:
            os.write(self._to_us, OPENED)
            self._close()

    def end(self) -> None:
        """When the JVM has: passes on its last lines."""
        if not self._is_closed:
            self._close()
        self._thread.join(LAST_LINES_TIMEOUT_S)

    def _close(self) -> None:
        """This process's end of the pipe, as the thread would not come to its end otherwise."""
        self._is_closed = True
        os.close(self._to_us)

    def _pass_on(self) -> None:
        is_open = False
        with open(self._from_jvm, "rb") as lines:
            for line in lines:
                if line.endswith(OPENED):
                    is_open = True
                    line = line.removesuffix(OPENED)
                if line and (is_open or not OF_EVERY_START.match(line)):
                    os.write(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2, line)


def start(settings: Mapping[str, str]) -> None:
    """Of a session that is to be opened with these settings; nothing where the process has a JVM."""
    global _lines

    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    conf = SparkConf().setAll(list(settings.items()))
    lines = _Lines()
    launch: Any = launch_gateway
    try:
        SparkContext._ensure_initialized(gateway=launch(conf, {"stderr": lines}))
    except BaseException:
        lines.end()
        raise
    _lines = lines


def opened() -> None:
    """From here on all that the JVM says is worth telling."""
    if _lines is not None:
        _lines.opened()


def end(patience_s: float = END_TIMEOUT_S) -> None:
    """With all that it is at, when `patience_s` are over."""
    global _lines

    from pyspark import SparkContext

    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        # Somebody else started it: spark-submit.
        return
    gateway.shutdown()
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
    if _lines is not None:
        _lines.end()
        _lines = None
