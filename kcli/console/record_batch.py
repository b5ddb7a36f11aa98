"""Records that are to be sent, in columns, as `Producer.send_batch` takes them."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Headers = Sequence[tuple[str | bytes, bytes | None]]


class RecordBatch(NamedTuple):
    """What one read of the input says, from line `first_line` on; columns that nothing was said of are None.

    `passed_over` are lines that make no record, and why; `failure` is what is wrong with the line behind the last
    record, which ends it all.
    """

    first_line: int
    last_line: int
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    headers: list[Headers] | None = None
    timestamps: list[int] | None = None
    partitions: list[int | None] | None = None
    # No record takes more bytes than this, its lengths apart.
    largest_bytes: int = 0
    passed_over: Sequence[str] = ()
    failure: Exception | None = None
