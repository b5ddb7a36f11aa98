"""`AsyncProducer`: the same producer for asyncio.

If `send` or `send_batch` may have to wait for room or for a topic, they run on a thread, so that the loop is not
blocked. Futures can be awaited. The background thread completes them.
"""

from __future__ import annotations

import asyncio

from kcore.client.producer.producer import Producer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from kcore.client.config.client_config import ProducerConfig
    from kcore.client.metadata.cluster import TopicPartition
    from kcore.client.producer.batch_future import BatchFuture
    from kcore.client.producer.record_future import RecordFuture, RecordMetadata


class AsyncProducer:
    """Configured like a Producer. `send` returns a future, `send_and_wait` the record's metadata."""

    def __init__(self, config: ProducerConfig | Mapping[str, Any] | None = None, **keywords: Any) -> None:
        self._producer = Producer(config, **keywords)

    @property
    def config(self) -> ProducerConfig:
        return self._producer.config

    async def send(self, topic: str, value: Any = None, **record: Any) -> RecordFuture:
        """Append one record, with the arguments of Producer.send."""
        if self._producer.takes_at_once(topic):
            return self._producer.send(topic, value, **record)
        return await asyncio.to_thread(self._producer.send, topic, value, **record)

    async def send_and_wait(self, topic: str, value: Any = None, **record: Any) -> RecordMetadata:
        """Send a record and wait until it is acknowledged."""
        return await (await self.send(topic, value, **record))

    async def send_batch(self, topic: str, values: Any, **batch: Any) -> BatchFuture:
        """Append many records, with the arguments of Producer.send_batch."""
        return await asyncio.to_thread(self._producer.send_batch, topic, values, **batch)

    async def partitions_for(self, topic: str) -> list[int]:
        return await asyncio.to_thread(self._producer.partitions_for, topic)

    async def flush(self, timeout: float | None = None) -> None:
        await asyncio.to_thread(self._producer.flush, timeout)

    async def close(self, timeout: float | None = None) -> None:
        await asyncio.to_thread(self._producer.close, timeout)

    async def init_transactions(self) -> None:
        await asyncio.to_thread(self._producer.init_transactions)

    async def begin_transaction(self) -> None:
        self._producer.begin_transaction()

    async def send_offsets_to_transaction(self, offsets: Mapping[TopicPartition, Any], group_metadata: Any) -> None:
        await asyncio.to_thread(self._producer.send_offsets_to_transaction, offsets, group_metadata)

    async def commit_transaction(self) -> None:
        await asyncio.to_thread(self._producer.commit_transaction)

    async def abort_transaction(self) -> None:
        await asyncio.to_thread(self._producer.abort_transaction)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        await self.close(None if kind is None else 0)
