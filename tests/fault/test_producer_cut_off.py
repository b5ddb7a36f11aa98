"""An idempotent producer behind a network that cuts its frames: each acknowledged record is there once, in order."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from kcore.testing.fault_proxy.proxy import FaultProxy
from tests.integration.test_producer import read

SEEDS = range(6)
RECORDS = 600


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_acknowledged_is_written_once_and_in_order(broker: EmbeddedBroker, seed: int) -> None:
    source = random.Random(seed)
    topic = f"cut-{seed}"
    broker.create_topic(topic, partitions=1)
    settings = {"batch_size": 400, "retry_backoff_ms": 5, "retry_backoff_max_ms": 20, "reconnect_backoff_ms": 1}
    with FaultProxy(broker.bootstrap_servers) as proxy:
        with Producer(bootstrap_servers=proxy.bootstrap_servers, delivery_timeout_ms=60_000, **settings) as producer:
            futures = []
            for number in range(RECORDS):
                if number % 60 == 0:
                    direction = source.choice(("request", "response"))
                    cut = source.randrange(600)
                    proxy.faults.disconnect(after_bytes=cut, direction=direction, api="Produce", times=2)
                futures.append(producer.send(topic, b"%d" % number))
                if source.random() < 0.02:
                    producer.flush()
            offsets = [future.result(60).offset for future in futures]
        assert producer.live_buffers == 0
    assert [int(message.value()) for message in read(broker, topic, RECORDS)] == list(range(RECORDS))
    # A duplicate may be acknowledged without its offset.
    assert all(offset in (-1, number) for number, offset in enumerate(offsets))
