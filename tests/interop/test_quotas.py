"""Quotas as others see them: set and shown by Apache Kafka's kafka-configs, felt and reported by librdkafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from kcore.client.admin.admin import Admin
from kcore.client.admin.client_quotas import QuotaChange
from kcore.client.admin.topics import NewTopic
from kcore.client.cluster_client import ClusterClient
from tests.broker_process import BrokerProcess
from tests.interop.java_tools import VERSIONS_BY_SIZE, JavaTools

CONFIG_COMMAND = "kafka.admin.ConfigCommand"
VALUE = b"x" * 50_000
RATE = 100_000
# Ten seconds' worth may come at once; this is two more. Who takes longer than that is beyond the quota the next
# time.
RECORDS = 12 * RATE // len(VALUE) + 1
TIMES = 5
TIMEOUT_S = 60


@pytest.fixture(params=["native", "handlers"])
def broker(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[BrokerProcess]:
    fast = str(request.param == "native").lower()
    with BrokerProcess(tmp_path / "data", {"kcli.fast.path.enable": fast}) as broker:
        with ClusterClient(broker.bootstrap_server) as network:
            Admin.over(network).create_topics([NewTopic("t", 1)])
        yield broker


def set_quota(broker: BrokerProcess, entity: dict[str, str | None], **values: float) -> None:
    with ClusterClient(broker.bootstrap_server) as network:
        assert Admin.over(network).alter_client_quotas([QuotaChange(entity, values)]) == [None]


class Throttled:
    """The throttle events of a client."""

    def __init__(self, broker: BrokerProcess, client_id: str) -> None:
        self.times: list[float] = []
        self.settings: dict[str, Any] = {
            "bootstrap.servers": broker.bootstrap_server,
            "client.id": client_id,
            "throttle_cb": self.note,
        }

    def note(self, event: Any) -> None:
        if event.throttle_time > 0:
            self.times.append(event.throttle_time)


def produce(settings: dict[str, Any]) -> None:
    failures: list[object] = []
    producer = Producer({**settings, "linger.ms": 0, "batch.num.messages": 1})
    for _ in range(RECORDS):
        producer.produce("t", VALUE, on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(TIMEOUT_S) == 0
    assert not failures


def produce_until_throttled(limited: Throttled) -> None:
    for _ in range(TIMES):
        produce(limited.settings)
        if limited.times:
            return
    raise AssertionError("it was never throttled")


def test_a_producer_is_throttled_and_told(broker: BrokerProcess) -> None:
    set_quota(broker, {"client-id": "limited"}, producer_byte_rate=RATE)
    limited, free = Throttled(broker, "limited"), Throttled(broker, "free")
    produce(free.settings)
    assert not free.times
    produce_until_throttled(limited)


def test_a_consumer_is_throttled_told_and_gets_everything(broker: BrokerProcess) -> None:
    produce({"bootstrap.servers": broker.bootstrap_server})
    set_quota(broker, {"user": None}, consumer_byte_rate=RATE)
    limited = Throttled(broker, "limited")
    consumer = Consumer({**limited.settings, "group.id": "g", "enable.auto.commit": False})
    for _ in range(TIMES):
        consumer.assign([TopicPartition("t", 0, OFFSET_BEGINNING)])
        offsets: list[int | None] = []
        while len(offsets) < RECORDS:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None
            assert message.error() is None, message.error()
            offsets.append(message.offset())
        assert offsets == list(range(RECORDS))
        if limited.times:
            break
    consumer.close()
    assert limited.times


@pytest.mark.needs("java", "mvn")
@pytest.mark.parametrize("broker", ["native"], indirect=True)
@pytest.mark.parametrize("version", VERSIONS_BY_SIZE)
def test_kafka_configs_sets_shows_and_removes_quotas(broker: BrokerProcess, version: str) -> None:
    tools = JavaTools(version)

    def configs(*arguments: str) -> str:
        return tools.run(CONFIG_COMMAND, "--bootstrap-server", broker.bootstrap_server, *arguments)

    pair = ("--entity-type", "users", "--entity-name", "ann", "--entity-type", "clients", "--entity-default")
    configs("--alter", "--add-config", f"producer_byte_rate={RATE},request_percentage=12.5", *pair)
    configs("--alter", "--add-config", f"producer_byte_rate={RATE}", "--entity-type", "clients", "--entity-default")
    configs(
        "--alter", "--add-config", "connection_creation_rate=7", "--entity-type", "ips", "--entity-name", "10.0.0.7"
    )
    assert "user-principal 'ann', the default client-id are " in configs("--describe", *pair)
    assert "connection_creation_rate=7.0" in configs("--describe", "--entity-type", "ips")
    with ClusterClient(broker.bootstrap_server) as network:
        kept = {tuple(sorted(one.entity.items())): one.quotas for one in Admin.over(network).describe_client_quotas()}
    assert kept == {
        (("client-id", None), ("user", "ann")): {"producer_byte_rate": float(RATE), "request_percentage": 12.5},
        (("client-id", None),): {"producer_byte_rate": float(RATE)},
        (("ip", "10.0.0.7"),): {"connection_creation_rate": 7.0},
    }
    broker.restart()
    limited = Throttled(broker, "anyone")
    produce_until_throttled(limited)
    configs("--alter", "--delete-config", "producer_byte_rate", "--entity-type", "clients", "--entity-default")
    free = Throttled(broker, "someone else")
    produce(free.settings)
    assert not free.times
