"""The producer of asyncio: awaiting records, batches and what has to wait, while the loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from kcore.client.errors import RecordTooLarge
from kcore.client.producer import AsyncProducer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.integration.test_producer import read


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


def test_records_and_batches_are_awaited(broker: EmbeddedBroker) -> None:
    async def main() -> None:
        async with AsyncProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            first = await producer.send_and_wait("awaited", b"first", key=b"k")
            futures = [await producer.send("awaited", b"%d" % number) for number in range(100)]
            offsets = [metadata.offset for metadata in await asyncio.gather(*futures)]
            assert [first.offset, *offsets] == list(range(101))
            [delivered] = await (await producer.send_batch("awaited", [b"x"] * 50))
            assert (delivered.first_offset, delivered.record_count) == (101, 50)
            with pytest.raises(RecordTooLarge):
                await producer.send("awaited", bytes(2_000_000))

    asyncio.run(main())
    assert len(read(broker, "awaited", 151)) == 151


def test_the_loop_goes_on_while_the_buffer_is_full(broker: EmbeddedBroker) -> None:
    async def main() -> int:
        ticks = 0
        is_done = False

        async def tick() -> None:
            nonlocal ticks
            while not is_done:
                ticks += 1
                await asyncio.sleep(0)

        async with AsyncProducer(
            bootstrap_servers=broker.bootstrap_servers, buffer_memory=3_000, batch_size=1_000
        ) as producer:
            ticking = asyncio.create_task(tick())
            for _ in range(100):
                await producer.send("full", b"x" * 500)
            is_done = True
            await ticking
        return ticks

    assert asyncio.run(main()) > 0
    assert len(read(broker, "full", 100)) == 100
