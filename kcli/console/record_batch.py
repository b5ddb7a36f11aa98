"""Records to send, in columns, as `Producer.send_batch` takes them."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Headers = Sequence[tuple[str | bytes, bytes | None]]


class RecordBatch(NamedTuple):
    """The records of one read of the input, which starts at line `first_line`. Unused columns are None.

    `passed_over` are skipped lines with reasons. `failure` is the error in the line after the last record, which ends
    the input.
    """

    first_line: int
    last_line: int
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    headers: list[Headers] | None = None
    timestamps: list[int] | None = None
    partitions: list[int | None] | None = None
    # Upper bound for the bytes of a record, without its lengths.
    largest_bytes: int = 0
    passed_over: Sequence[str] = ()
    failure: Exception | None = None
