"""Reads and checks the options of `format("kcli-log")`."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from kspark.options import OptionError, Options, mistakes
from kspark.schema import BATCH_COLUMNS, HEADERS, RECORD_COLUMNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEFAULT_SPLIT_BYTES = 128 << 20
LOG_OPTIONS = ("path", "columns", "includeHeaders", "maxSplitBytes", "checkCrcs", "skipCorrupt")


class LogOptions(NamedTuple):
    path: str
    columns: tuple[str, ...]
    split_bytes: int
    checks_crcs: bool
    skips_corrupt: bool

    @property
    def needs_batches(self) -> bool:
        return any(name in BATCH_COLUMNS for name in self.columns)


def log_options(given: dict[str, str]) -> LogOptions:
    """Return the options. Raises OptionError if one is invalid."""
    options = Options(given)
    return LogOptions(**{field: read(options) for field, read in _READERS.items()})


def log_mistakes(given: dict[str, str]) -> list[str]:
    """Return the messages of all errors that `log_options` would raise."""
    options = Options(given)
    return mistakes(partial(read, options) for read in _READERS.values())


def log_columns(options: Options) -> tuple[str, ...]:
    """Return the requested columns in the order of the schema. Default: all columns, headers only if included."""
    known = {name.lower(): name for name in (*RECORD_COLUMNS, HEADERS, *BATCH_COLUMNS)}
    given = options.text("columns")
    if given is None:
        with_headers = options.flag("includeHeaders", False)
        return tuple(name for name in known.values() if with_headers or name != HEADERS)
    asked = {name.strip().lower() for name in given.split(",") if name.strip()}
    if not asked or asked - set(known):
        raise OptionError(f"invalid columns {given!r}. Valid columns: {', '.join(known.values())}")
    return tuple(name for lower, name in known.items() if lower in asked)


def _path(options: Options) -> str:
    path = options.text("path")
    if not path:
        raise OptionError('path must name a directory with segment files: spark.read.format("kcli-log").load("/data")')
    return path.removeprefix("file://")


# How each field of LogOptions is read from the options.
_READERS: dict[str, Callable[[Options], Any]] = {
    "path": _path,
    "columns": log_columns,
    "split_bytes": lambda options: options.number("maxSplitBytes", at_least=1) or DEFAULT_SPLIT_BYTES,
    "checks_crcs": lambda options: options.flag("checkCrcs", True),
    "skips_corrupt": lambda options: options.flag("skipCorrupt", False),
}
