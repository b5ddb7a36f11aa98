"""The server's log. It does not use the `logging` module, whose import takes a third of the broker's start time.

A record is one line on stderr, in the format of Kafka's log4j configuration:

    [2026-11-21 02:36:39,123] INFO [kcore.storage.log] Rolled a new segment at offset 4711

Lines that a client can cause repeatedly are logged with `limited`: LINES_EACH lines a minute for each client and cause.
Further lines are counted, and the count is logged when the minute is over.

Levels are hierarchical, as in log4j: a logger without its own level has that of the nearest logger above it
(`kcore.storage` is above `kcore.storage.log`), or else that of the root. Levels can be changed at run time.

Concurrency and crash policy: any thread that holds the GIL may log. Every record is one write under one lock, so lines
never mix. Logging never raises. A message whose arguments cannot be formatted is written with a note instead. If the
stream cannot be written to, the line is lost, because a full or closed stderr must not stop a broker.
"""

from __future__ import annotations

import sys
import time
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

TRACE, DEBUG, INFO, WARN, ERROR, FATAL = 5, 10, 20, 30, 40, 50
LEVELS = {"TRACE": TRACE, "DEBUG": DEBUG, "INFO": INFO, "WARN": WARN, "WARNING": WARN, "ERROR": ERROR, "FATAL": FATAL}
LEVEL_NAMES = {TRACE: "TRACE", DEBUG: "DEBUG", INFO: "INFO", WARN: "WARN", ERROR: "ERROR", FATAL: "FATAL"}
ROOT = "root"
MAX_REMEMBERED_WARNINGS = 1024
LINES_EACH = 10
INTERVAL_S = 60.0
MAX_LIMITED = 1024


class Output:
    """The destination of all records; there is one, `OUTPUT`."""

    __slots__ = ("lock", "stream", "warned")

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self.stream: TextIO | None = None  # None: the current sys.stderr
        self.warned: set[str] = set()

    def write(self, line: str) -> None:
        stream = sys.stderr if self.stream is None else self.stream
        if stream is None:
            return
        with self.lock:
            try:
                stream.write(line)
                stream.flush()
            except (OSError, ValueError):
                return

    def is_new_warning(self, text: str) -> bool:
        """Whether `text` was not seen before. The memory is bounded; a forgotten warning is repeated."""
        with self.lock:
            if text in self.warned:
                return False
            if len(self.warned) >= MAX_REMEMBERED_WARNINGS:
                self.warned.clear()
            self.warned.add(text)
            return True


OUTPUT = Output()


class LimitedCause:
    """One cause of lines by one client: when it began, and how many lines were written and left out."""

    __slots__ = ("began_s", "left_out", "level", "logger", "written")

    def __init__(self, logger: Logger, level: int, began_s: float) -> None:
        self.logger = logger
        self.level = level
        self.began_s = began_s
        self.written = 0
        self.left_out = 0


class LimitedLines:
    """Limits the lines of each client and cause; there is one, `LIMITED`.

    At most MAX_LIMITED pairs of client and cause are counted separately. Lines of further pairs share one count.
    """

    __slots__ = ("beyond", "causes", "lock")

    def __init__(self) -> None:
        self.lock = allocate_lock()
        # Oldest first.
        self.causes: dict[tuple[str, str], LimitedCause] = {}
        self.beyond = 0

    def allows(self, logger: Logger, level: int, client: str, cause: str) -> bool:
        """Whether a line may be written. Otherwise it is counted."""
        self.report(INTERVAL_S)
        with self.lock:
            found = self._cause(logger, level, client, cause)
            if found is None:
                return False
            if found.written < LINES_EACH:
                found.written += 1
                return True
            found.left_out += 1
            return False

    def count(self, logger: Logger, level: int, client: str, cause: str, lines: int) -> None:
        """Counts lines that were left out elsewhere."""
        with self.lock:
            found = self._cause(logger, level, client, cause)
            if found is not None:
                found.left_out += lines

    def _cause(self, logger: Logger, level: int, client: str, cause: str) -> LimitedCause | None:
        found = self.causes.get((client, cause))
        if found is None and len(self.causes) < MAX_LIMITED:
            found = self.causes[client, cause] = LimitedCause(logger, level, time.monotonic())
        elif found is None:
            self.beyond += 1
        return found

    def report(self, older_than_s: float) -> None:
        """Writes and resets the counts that began at least `older_than_s` seconds ago."""
        ended = []
        with self.lock:
            latest_s = time.monotonic() - older_than_s
            while self.causes:
                key = next(iter(self.causes))
                if self.causes[key].began_s > latest_s:
                    break
                ended.append((*key, self.causes.pop(key)))
            beyond = 0
            if ended:
                beyond, self.beyond = self.beyond, 0
        for client, cause, found in ended:
            if found.left_out:
                label = LEVEL_NAMES[found.level]
                found.logger.write(label, f"{found.left_out} more lines were left out: {cause}, client {client}")
        if beyond:
            get_logger(ROOT).write("WARN", f"{beyond} more lines of other clients and causes were left out")


LIMITED = LimitedLines()


class Logger:
    """The log of one component. Messages take %-style arguments, which are formatted only if the level is on.

    `level` is the effective level, `own_level` the one that was set for this logger.
    """

    __slots__ = ("component", "level", "own_level")

    def __init__(self, component: str, level: int) -> None:
        self.component = component
        self.own_level: int | None = None
        self.level = level

    def debug(self, message: str, *arguments: object) -> None:
        if self.level <= DEBUG:
            self._write("DEBUG", message, arguments, None)

    def info(self, message: str, *arguments: object) -> None:
        if self.level <= INFO:
            self._write("INFO", message, arguments, None)

    def warn(self, message: str, *arguments: object) -> None:
        if self.level <= WARN:
            self._write("WARN", message, arguments, None)

    def error(self, message: str, *arguments: object, cause: BaseException | None = None) -> None:
        """Logs an error. With `cause`, its traceback follows in the same write."""
        if self.level <= ERROR:
            self._write("ERROR", message, arguments, cause)

    def warn_once(self, message: str, *arguments: object) -> None:
        """Logs a warning unless the same text was logged before. For warnings that every request would repeat."""
        text = formatted(message, arguments)
        if self.level <= WARN and OUTPUT.is_new_warning(f"{self.component} {text}"):
            self._write("WARN", text, (), None)

    def limited(
        self,
        level: int,
        client: str,
        cause: str,
        message: str,
        *arguments: object,
        error: BaseException | None = None,
    ) -> None:
        """Logs a line that a client causes, within the limit. `cause` is its kind, without the varying parts."""
        if self.level <= level and LIMITED.allows(self, level, client, cause):
            self._write(LEVEL_NAMES[level], message, arguments, error)

    def write(self, level: str, text: str) -> None:
        """Writes a line whatever the level is. `level` is only its label."""
        self._write(level, text, (), None)

    def _write(self, level: str, message: str, arguments: tuple[object, ...], cause: BaseException | None) -> None:
        text = formatted(message, arguments) if arguments else message
        line = f"[{timestamp(time.time())}] {level} [{self.component}] {text}\n"
        OUTPUT.write(line + traceback_of(cause) if cause is not None else line)


class Loggers:
    """All loggers of the process by name, and the level of the root; there is one, `LOGGERS`."""

    __slots__ = ("by_name", "listeners", "lock", "root_level")

    def __init__(self) -> None:
        self.by_name: dict[str, Logger] = {}
        self.root_level = INFO
        self.listeners: list[Callable[[], None]] = []
        self.lock = allocate_lock()

    def get(self, name: str) -> Logger:
        """The logger of a name, created on first use."""
        logger = self.by_name.get(name)
        if logger is None:
            with self.lock:
                logger = self.by_name.setdefault(name, Logger(name, self.root_level))
                logger.level = self._level_in_force(logger)
        return logger

    def set_level(self, name: str, level: int | None) -> None:
        """Sets the level of a logger or of the root. With None a logger inherits its level again."""
        with self.lock:
            if name == ROOT:
                if level is not None:
                    self.root_level = level
            else:
                self.by_name[name].own_level = level
            for logger in self.by_name.values():
                logger.level = self._level_in_force(logger)
        for listener in tuple(self.listeners):
            listener()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` after every change of a level, on the thread that made it."""
        self.listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Undoes `on_change`."""
        if listener in self.listeners:
            self.listeners.remove(listener)

    def _level_in_force(self, logger: Logger) -> int:
        name = logger.component
        while name:
            above = self.by_name.get(name)
            if above is not None and above.own_level is not None:
                return above.own_level
            name = name.rpartition(".")[0]
        return self.root_level


LOGGERS = Loggers()


def get_logger(component: str) -> Logger:
    return LOGGERS.get(component)


def set_level(name: str) -> None:
    """Sets the root's level by a log4j name, in any case. ValueError for an unknown name, with the valid ones."""
    level = LEVELS.get(name.upper())
    if level is None:
        raise ValueError(f"unknown log level {name!r}: must be one of {', '.join(LEVELS)}")
    LOGGERS.set_level(ROOT, level)


def set_stream(stream: TextIO | None) -> None:
    """Sends records to `stream`; None means stderr again."""
    OUTPUT.stream = stream


def timestamp(seconds: float) -> str:
    """Local time in log4j's ISO8601 format, with a comma before the milliseconds."""
    milliseconds = int(seconds * 1000)
    whole, fraction = divmod(milliseconds, 1000)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(whole))},{fraction:03d}"


def formatted(message: str, arguments: tuple[object, ...]) -> str:
    try:
        return message % arguments if arguments else message
    except Exception as error:  # an argument's __str__ may raise anything, and a log line may not
        return f"{message} (arguments not formatted: {type(error).__name__})"


def traceback_of(cause: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(cause))
