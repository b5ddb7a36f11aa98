from kcore.client.consumer.consumer_record import ConsumerRecord
from kcore.client.consumer.fetch_targets import FetchTargets
from kcore.client.consumer.record_columns import RecordColumns

class RecordReader(FetchTargets):
    def take_records(self, max_records: int, timeout_ms: float | None = 0) -> list[ConsumerRecord]: ...
    def take_columns(
        self,
        max_records: int | None = None,
        timeout_ms: float | None = 0,
        *,
        for_arrow: bool = False,
        include_headers: bool = False,
    ) -> RecordColumns: ...
    def take_arrow(
        self, max_records: int | None = None, timeout_ms: float | None = 0, *, include_headers: bool = False
    ) -> RecordColumns: ...
    def let_go(self) -> None: ...
    def wake(self) -> None: ...
