"""`AsyncConsumer`: `Consumer` for asyncio. It has Consumer's methods as coroutines with the same arguments.

    async with AsyncConsumer({"bootstrap.servers": "localhost:9092", "group.id": "billing"}) as consumer:
        await consumer.subscribe(["orders"])
        async for record in consumer:
            ...

Concurrency: one thread is the consumer's application thread, so the event loop never waits for a broker. Calls are
executed one at a time, in their order. A listener's methods may be coroutines. They run on the loop while the rebalance
waits for them. A cancelled `poll` moves back to where it began, so its records are neither lost nor committed: the next
poll returns them. Any other cancelled call that has begun is still executed.
"""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from kcore.client.consumer.consumer import CLOSE_MS, ITERATION_MS, Consumer
from kcore.client.consumer.consumer_errors import IllegalState
from kcore.client.consumer.rebalance_callback import RebalanceListener
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from typing import Any, Self, TypeVar

    from kcore.client.config.client_config import ConsumerConfig
    from kcore.client.consumer.consumer_record import ConsumerRecord
    from kcore.client.consumer.group_settings import GroupMetadata
    from kcore.client.consumer.positions import OffsetAndMetadata, OffsetAndTimestamp
    from kcore.client.consumer.record_columns import RecordColumns
    from kcore.client.consumer.subscription_pattern import SubscriptionPattern

    Value = TypeVar("Value")


class _OnLoop(RebalanceListener):
    """Calls a listener whose methods may be coroutines, from the consumer's thread."""

    def __init__(self, listener: RebalanceListener, loop: asyncio.AbstractEventLoop) -> None:
        self._listener = listener
        self._loop = loop

    def _call(self, method: Callable[..., Any], partitions: Sequence[TopicPartition]) -> None:
        answer = method(partitions)
        if inspect.isawaitable(answer):

            async def awaited() -> None:
                await answer

            asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self._call(self._listener.on_partitions_assigned, partitions)

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._call(self._listener.on_partitions_revoked, partitions)

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self._call(self._listener.on_partitions_lost, partitions)


async def _end_of(call: asyncio.Future[Any]) -> None:
    """Wait for a call even if the waiting task is cancelled again."""
    while not call.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([call])


def _first_offsets(records: Any) -> dict[TopicPartition, int]:
    """The first offset of each partition in a result of `poll`, `poll_columns` or `poll_arrow`."""
    if isinstance(records, list):
        runs = [(record.topic, record.partition, record.offset) for record in records]
    else:
        runs = [(topic, partition, records.offset_at(first)) for topic, partition, first, _ in records.sources]
    found: dict[TopicPartition, int] = {}
    for topic, partition, offset in runs:
        found.setdefault(TopicPartition(topic, partition), offset)
    return found


class AsyncConsumer:
    """`config` is a ConsumerConfig, or Kafka's properties by name. Keywords are the same names with underscores."""

    def __init__(self, config: ConsumerConfig | Mapping[str, Any] | None = None, **keywords: Any) -> None:
        self._consumer = Consumer(config, **keywords)
        self._thread = ThreadPoolExecutor(1, "kcli-consumer")
        # Held during a call, so that no other call comes between a cancelled poll and its way back.
        self._calls = asyncio.Lock()

    async def _run(self, call: Callable[..., Value], *arguments: Any, **keywords: Any) -> Value:
        async with self._calls:
            return await self._submit(partial(call, *arguments, **keywords))

    def _submit(self, call: Callable[[], Value]) -> asyncio.Future[Value]:
        return asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _poll(self, call: Callable[[float], Value], timeout_ms: float) -> Value:
        async with self._calls:
            polling = self._submit(partial(call, timeout_ms))
            try:
                return await asyncio.shield(polling)
            except asyncio.CancelledError:
                self._consumer.wakeup()
                await _end_of(polling)
                self._consumer.forget_wakeup()
                if polling.exception() is None:
                    await _end_of(self._submit(partial(self._go_back, polling.result())))
                raise

    def _go_back(self, records: Any) -> None:
        """Seek to the first of these records in each partition that is still assigned."""
        for partition, offset in _first_offsets(records).items():
            # A rebalance in the background may take the partition at any time.
            with suppress(IllegalState):
                self._consumer.seek(partition, offset)

    # Reading

    async def poll(self, timeout_ms: float = 0.0) -> list[ConsumerRecord]:
        return await self._poll(self._consumer.poll, timeout_ms)

    async def poll_columns(
        self, timeout_ms: float = 0.0, *, max_records: int | None = None, include_headers: bool = False
    ) -> RecordColumns:
        call = partial(self._consumer.poll_columns, max_records=max_records, include_headers=include_headers)
        return await self._poll(call, timeout_ms)

    async def poll_arrow(
        self, timeout_ms: float = 0.0, *, max_records: int | None = None, include_headers: bool = False
    ) -> RecordColumns:
        call = partial(self._consumer.poll_arrow, max_records=max_records, include_headers=include_headers)
        return await self._poll(call, timeout_ms)

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        while True:
            for record in await self.poll(ITERATION_MS):
                yield record

    # Subscriptions and assignments

    async def subscribe(
        self,
        topics: Iterable[str] | re.Pattern[str] | SubscriptionPattern,
        listener: RebalanceListener | None = None,
    ) -> None:
        wrapped = _OnLoop(listener, asyncio.get_running_loop()) if listener is not None else None
        await self._run(self._consumer.subscribe, topics, wrapped)

    async def assign(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        await self._run(self._consumer.assign, list(partitions))

    async def unsubscribe(self) -> None:
        await self._run(self._consumer.unsubscribe)

    @property
    def assignment(self) -> list[TopicPartition]:
        return self._consumer.assignment

    @property
    def subscription(self) -> frozenset[str]:
        return self._consumer.subscription

    @property
    def paused(self) -> list[TopicPartition]:
        return self._consumer.paused

    async def pause(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        await self._run(self._consumer.pause, list(partitions))

    async def resume(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        await self._run(self._consumer.resume, list(partitions))

    # Positions

    async def seek(self, partition: TopicPartition | tuple[str, int], offset: int | OffsetAndMetadata) -> None:
        await self._run(self._consumer.seek, partition, offset)

    async def seek_to_beginning(self, partitions: Iterable[TopicPartition | tuple[str, int]] = ()) -> None:
        await self._run(self._consumer.seek_to_beginning, list(partitions))

    async def seek_to_end(self, partitions: Iterable[TopicPartition | tuple[str, int]] = ()) -> None:
        await self._run(self._consumer.seek_to_end, list(partitions))

    async def seek_to_time(
        self, timestamp_ms: int, partitions: Iterable[TopicPartition | tuple[str, int]] = ()
    ) -> None:
        await self._run(self._consumer.seek_to_time, timestamp_ms, list(partitions))

    async def position(self, partition: TopicPartition | tuple[str, int], *, timeout_ms: float | None = None) -> int:
        return await self._run(self._consumer.position, partition, timeout_ms=timeout_ms)

    # Commits

    async def commit(
        self,
        offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        await self._run(self._consumer.commit, offsets, timeout_ms=timeout_ms)

    async def committed(
        self, partitions: Iterable[TopicPartition | tuple[str, int]], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        return await self._run(self._consumer.committed, list(partitions), timeout_ms=timeout_ms)

    def group_metadata(self) -> GroupMetadata:
        return self._consumer.group_metadata()

    # Offsets and partitions

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        return await self._run(self._consumer.offsets_for_times, timestamps, timeout_ms=timeout_ms)

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        return await self._run(self._consumer.beginning_offsets, list(partitions), timeout_ms=timeout_ms)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        return await self._run(self._consumer.end_offsets, list(partitions), timeout_ms=timeout_ms)

    async def partitions_for(self, topic: str, *, timeout_ms: float | None = None) -> list[TopicPartition]:
        return await self._run(self._consumer.partitions_for, topic, timeout_ms=timeout_ms)

    # Closing

    async def close(self, timeout_ms: float = CLOSE_MS) -> None:
        """Close the consumer like `Consumer.close`, after the calls that have begun."""
        await self._run(self._consumer.close, timeout_ms)
        self._thread.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
