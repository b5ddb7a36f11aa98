"""The lag of groups in records and seconds, against offsets and timestamps that the test has chosen."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.broker_process import BrokerProcess
from tests.metrics_scrape import Metrics, scrape

TIMEOUT_S = 60
MINUTE_MS = 60_000
LAG = "kafka_consumergroup_lag"


@pytest.fixture(scope="module", params=["true", "false"], ids=["native", "handlers"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    directory = tmp_path_factory.mktemp("lag") / "data"
    overrides = {
        "metrics.port": "0",
        "offsets.topic.num.partitions": "2",
        "kcli.fast.path.enable": request.param,
        "metrics.max.group.partitions": "8",
    }
    with BrokerProcess(directory, overrides) as broker:
        yield broker


def create_topic(broker: BrokerProcess, topic: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
    admin.create_topics([NewTopic(topic, 1, config=config)])[topic].result(TIMEOUT_S)


def produce(broker: BrokerProcess, topic: str, ages_min: list[int], now_ms: int, **settings: object) -> None:
    """One record a minute of age, all in one batch."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_server, "linger.ms": 1000, **settings})
    for age_min in ages_min:
        producer.produce(topic, value=b"%d minutes old" % age_min, partition=0, timestamp=now_ms - age_min * MINUTE_MS)
    assert producer.flush(TIMEOUT_S) == 0


def commit(broker: BrokerProcess, group: str, topic: str, offset: int) -> None:
    """By a consumer that is nobody's member: the group stays empty."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_server, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def seconds_behind(metrics: Metrics, group: str, topic: str, record_ms: int) -> float:
    """What the broker says, less what the record's age was when it was asked at the earliest."""
    return metrics.value(f"{LAG}_seconds", consumergroup=group, topic=topic, partition="0") - (
        time.time() - record_ms / 1000
    )


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_the_lag_of_an_empty_group(broker: BrokerProcess, codec: str) -> None:
    topic = f"ages-{codec}"
    create_topic(broker, topic)
    now_ms = int(time.time() * 1000)
    produce(broker, topic, [50, 40, 30, 20, 10], now_ms, **{"compression.type": codec})
    produce(broker, topic, [5, 4], now_ms, **{"compression.type": codec})
    # In the middle of a batch, at a batch's beginning, at the log's.
    for offset, age_min in ((2, 30), (5, 5), (0, 50)):
        group = f"{codec}-{offset}"
        commit(broker, group, topic, offset)
        labels = {"consumergroup": group, "topic": topic, "partition": "0"}
        metrics = scrape(broker)
        assert metrics.value("kafka_consumergroup_current_offset", **labels) == offset
        assert metrics.value(LAG, **labels) == 7 - offset
        assert -TIMEOUT_S < seconds_behind(metrics, group, topic, now_ms - age_min * MINUTE_MS) <= 0.01
    for offset in (0, 2, 5):
        commit(broker, f"{codec}-{offset}", topic, 7)


def test_who_has_read_everything_is_not_behind(broker: BrokerProcess) -> None:
    create_topic(broker, "read")
    produce(broker, "read", [1000], int(time.time() * 1000))
    commit(broker, "reader", "read", 1)
    labels = {"consumergroup": "reader", "topic": "read", "partition": "0"}
    metrics = scrape(broker)
    assert (f"{LAG}_seconds", frozenset(labels.items())) in metrics.samples
    assert metrics.value(f"{LAG}_seconds", **labels) == metrics.value(LAG, **labels) == 0


def test_lag_shrinks_as_a_member_commits(broker: BrokerProcess) -> None:
    create_topic(broker, "shrinking")
    now_ms = int(time.time() * 1000)
    produce(broker, "shrinking", [9, 8, 7, 6, 5, 4, 3, 2], now_ms)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_server,
            "group.id": "members",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["shrinking"])
    read = [message for _ in range(5) if (message := consumer.poll(TIMEOUT_S))]
    assert len(read) == 5
    consumer.commit(message=read[-1], asynchronous=False)
    metrics = scrape(broker)
    labels = {"consumergroup": "members", "topic": "shrinking", "partition": "0"}
    assert metrics.value(LAG, **labels) == 3
    assert -TIMEOUT_S < seconds_behind(metrics, "members", "shrinking", now_ms - 4 * MINUTE_MS) <= 0.01
    assert metrics.value("kafka_consumergroup_members", consumergroup="members") == 1
    assert metrics.value("kafka_coordinator_group_groupmetadatamanager_numgroupsstable") == 1
    consumer.close()
    assert scrape(broker).value(LAG, **labels) == 3


def test_groups_beyond_the_bound_are_counted(broker: BrokerProcess) -> None:
    create_topic(broker, "many")
    before = scrape(broker)
    shown = sum(name == LAG for name, _ in before.samples)
    for number in range(12):
        commit(broker, f"many-{number}", "many", 0)
    metrics = scrape(broker)
    assert sum(name == LAG for name, _ in metrics.samples) == 8
    assert metrics.value("kcli_group_partitions_left_out") == shown + 12 - 8


def test_a_deleted_topic_ends_its_lag(broker: BrokerProcess) -> None:
    create_topic(broker, "a-mortal")
    commit(broker, "a-mourner", "a-mortal", 0)
    labels = frozenset({"consumergroup": "a-mourner", "topic": "a-mortal", "partition": "0"}.items())
    assert (LAG, labels) in scrape(broker).samples
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
    admin.delete_topics(["a-mortal"])["a-mortal"].result(TIMEOUT_S)
    assert (LAG, labels) not in scrape(broker).samples
