"""The options of `format("kcli-log")`, checked."""

from __future__ import annotations

from typing import NamedTuple

from kspark.options import OptionError, Options
from kspark.schema import BATCH_COLUMNS, HEADERS, RECORD_COLUMNS

DEFAULT_SPLIT_BYTES = 128 << 20


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
    """OptionError for what cannot be."""
    options = Options(given)
    path = options.text("path")
    if not path:
        raise OptionError('path must name a directory with segment files: spark.read.format("kcli-log").load("/data")')
    return LogOptions(
        path=path.removeprefix("file://"),
        columns=log_columns(options),
        split_bytes=options.number("maxSplitBytes", at_least=1) or DEFAULT_SPLIT_BYTES,
        checks_crcs=options.flag("checkCrcs", True),
        skips_corrupt=options.flag("skipCorrupt", False),
    )


def log_columns(options: Options) -> tuple[str, ...]:
    """In the order of the schema; all but headers when none are asked for."""
    known = {name.lower(): name for name in (*RECORD_COLUMNS, HEADERS, *BATCH_COLUMNS)}
    given = options.text("columns")
    if given is None:
        with_headers = options.flag("includeHeaders", False)
        return tuple(name for name in known.values() if with_headers or name != HEADERS)
    asked = {name.strip().lower() for name in given.split(",") if name.strip()}
    if not asked or asked - set(known):
        raise OptionError(f"columns must be some of {', '.join(known.values())}, not {given!r}")
    return tuple(name for lower, name in known.items() if lower in asked)
