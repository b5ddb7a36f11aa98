from collections.abc import Iterable
from typing import final

from kcore.client.consumer.consumer_record import ConsumerRecord
from kcore.client.consumer.record_columns import RecordColumns

FIELDS: frozenset[str]

@final
class RecordText:
    needs_headers: bool
    needs_epoch: bool
    def __init__(
        self,
        parts: Iterable[bytes | str],
        *,
        null: bytes = b"null",
        header_separator: bytes = b",",
        header_key_separator: bytes = b":",
        no_headers: bytes = b"",
    ) -> None: ...
    def of_columns(self, columns: RecordColumns, start: int = 0, end: int | None = None) -> bytes: ...
    def of_records(self, records: list[ConsumerRecord]) -> bytes: ...
