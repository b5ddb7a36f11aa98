"""Spark's JVM as a process of this one: started without the lines that every start has, and ended.

PySpark lets the JVM inherit this process's stdout and stderr. `start` gives it pipes instead, and a thread for each
passes its lines on through `sys.stdout` and `sys.stderr`: whatever draws on the terminal meanwhile (a live view) puts
itself in place of these, and the rows of a console sink are not drawn over. Lines of stderr that every start has are
left out until `opened` is called. The threads end with the JVM.
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
_outputs: list[_Output] = []


class _Output:
    """One output of the JVM, on its way to a stream of this process.

    `stream` finds the stream for each piece, as `sys.stdout` and `sys.stderr` may be replaced meanwhile. Lines that
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
        """The descriptor that the JVM is started with."""
        return self._to_us

    def opened(self) -> None:
        """Through the pipe too, so that it comes behind what was written before."""
        if not self._is_closed:
            os.write(self._to_us, OPENED)
            self._close()

    def end(self) -> None:
        """When the JVM has ended: passes on its last lines."""
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
                if line and (is_open or self._leaves_out is None or not self._leaves_out.match(line)):
                    self._write(line.decode(errors="replace"))

    def _write(self, text: str) -> None:
        stream = self._stream()
        if stream is None:
            return
        encoding = stream.encoding or "utf-8"
        # Where the reader has gone, the pipe is emptied all the same: the JVM would wait for ever.
        with suppress(OSError, ValueError):
            stream.write(text.encode(encoding, "replace").decode(encoding))
            stream.flush()


def start(settings: Mapping[str, str], *, prints_to_stderr: bool = False) -> None:
    """Of a session that is to be opened with these settings; nothing where the process has a JVM."""
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
    """From here on all that the JVM writes is passed on."""
    for output in _outputs:
        output.opened()


def _stdout() -> TextIO | None:
    return sys.stdout


def _stderr() -> TextIO | None:
    return sys.stderr


def end(patience_s: float = END_TIMEOUT_S) -> None:
    """With all that it is at, when `patience_s` are over."""
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
    for output in _outputs:
        output.end()
    _outputs.clear()
