"""Interceptors of a consumer (ConsumerInterceptor): for records before the application gets them, and for committed
offsets.

    on_consume(records) -> the records for the application        on_commit(offsets)        close()
"""

from __future__ import annotations

from kcore.client.interceptor_chain import InterceptorChain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.client.consumer.consumer_record import ConsumerRecord
    from kcore.client.consumer.positions import OffsetAndMetadata
    from kcore.client.metadata.cluster import TopicPartition


class ConsumerInterceptors(InterceptorChain):
    def on_consume(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        return self._pass("on_consume", records)

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._tell("on_commit", offsets)
