"""Administration by clients that no one here wrote: what one of them changes, another one sees."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewPartitions as AioNewPartitions
from aiokafka.admin import RecordsToDelete as AioRecordsToDelete
from aiokafka.structs import TopicPartition as AioTopicPartition
from confluent_kafka import ElectionType, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec
from kafka import TopicPartition as PyTopicPartition
from kafka.admin import KafkaAdminClient, UpdateFeatureType
from kafka.admin import NewPartitions as PyNewPartitions
from kafka.errors import InvalidUpdateVersionError

from tests.broker_process import BrokerProcess
from tests.interop.java_tools import VERSIONS, VERSIONS_BY_SIZE, JavaTools

TIMEOUT_S = 60
ELECTION_NOT_NEEDED = 84
RECORDS = 10

# Gives a topic partitions; deletes the records before an offset of partition 0.
Grow = Callable[[str, str, int], object]
DeleteRecords = Callable[[str, str, int, Path], object]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Default settings; what it logs must not hold a traceback."""
    with BrokerProcess(tmp_path_factory.mktemp("administered") / "data") as process:
        yield process
        assert "Traceback" not in process.log()


def filled_topic(server: str, name: str) -> AdminClient:
    """A topic of one partition with RECORDS records."""
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": server})
    for number in range(RECORDS):
        producer.produce(name, str(number), partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    return admin


def offsets(admin: AdminClient, topic: str) -> tuple[int, int]:
    """The earliest and the latest offset of partition 0."""
    partition = TopicPartition(topic, 0)
    found = [
        admin.list_offsets({partition: spec})[partition].result(TIMEOUT_S).offset
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
    ]
    return found[0], found[1]


def partition_count(admin: AdminClient, topic: str) -> int:
    return len(admin.list_topics(topic, TIMEOUT_S).topics[topic].partitions)


def grow_with_confluent(server: str, topic: str, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_partitions([NewPartitions(topic, count)])[topic].result(TIMEOUT_S)


def grow_with_kafka_python(server: str, topic: str, count: int) -> None:
    admin = KafkaAdminClient(bootstrap_servers=server)
    try:
        admin.create_partitions({topic: PyNewPartitions(count)})
    finally:
        admin.close()


def grow_with_aiokafka(server: str, topic: str, count: int) -> None:
    async def grow() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=server)
        await admin.start()
        try:
            response = await admin.create_partitions({topic: AioNewPartitions(count)})
            assert [code for _, code, *_ in response.topic_errors] == [0]
        finally:
            await admin.close()

    asyncio.run(grow())


def delete_with_confluent(server: str, topic: str, offset: int, directory: Path) -> None:
    admin = AdminClient({"bootstrap.servers": server})
    (result,) = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
    assert result.result(TIMEOUT_S).low_watermark == offset


def delete_with_kafka_python(server: str, topic: str, offset: int, directory: Path) -> None:
    admin = KafkaAdminClient(bootstrap_servers=server)
    try:
        admin.delete_records({PyTopicPartition(topic, 0): offset})
    finally:
        admin.close()


def delete_with_aiokafka(server: str, topic: str, offset: int, directory: Path) -> None:
    async def delete() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=server)
        await admin.start()
        try:
            partition = AioTopicPartition(topic, 0)
            deleted = await admin.delete_records({partition: AioRecordsToDelete(before_offset=offset)})
            assert deleted == {partition: offset}
        finally:
            await admin.close()

    asyncio.run(delete())


def java_grow(version: str) -> Grow:
    def grow(server: str, topic: str, count: int) -> None:
        JavaTools(version).run(
            "TopicCommand",
            *("--bootstrap-server", server, "--alter", "--topic", topic, "--partitions", str(count)),
        )

    return grow


def java_delete(version: str) -> DeleteRecords:
    def delete(server: str, topic: str, offset: int, directory: Path) -> None:
        file = directory / "offsets.json"
        partitions = [{"topic": topic, "partition": 0, "offset": offset}]
        file.write_text(json.dumps({"partitions": partitions, "version": 1}))
        tools = JavaTools(version)
        text = tools.run("DeleteRecordsCommand", "--bootstrap-server", server, "--offset-json-file", str(file))
        assert f"partition: {topic}-0\tlow_watermark: {offset}" in text

    return delete


NEEDS_JAVA = pytest.mark.needs("java", "mvn")
CLIENTS = [
    pytest.param(grow_with_confluent, delete_with_confluent, id="confluent-kafka"),
    pytest.param(grow_with_kafka_python, delete_with_kafka_python, id="kafka-python"),
    pytest.param(grow_with_aiokafka, delete_with_aiokafka, id="aiokafka"),
    *(pytest.param(java_grow(v), java_delete(v), id=f"java-{v}", marks=NEEDS_JAVA) for v in VERSIONS),
]


@pytest.mark.parametrize(("grow", "delete"), CLIENTS)
def test_a_topic_grows_and_loses_its_oldest_records(
    broker: BrokerProcess,
    grow: Grow,
    delete: DeleteRecords,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    server, topic = broker.bootstrap_server, f"administered-{request.node.callspec.id}"
    admin = filled_topic(server, topic)
    grow(server, topic, 3)
    assert partition_count(admin, topic) == 3
    delete(server, topic, 4, tmp_path)
    assert offsets(admin, topic) == (4, RECORDS)


def test_confluent_hears_why_not(broker: BrokerProcess) -> None:
    admin = filled_topic(broker.bootstrap_server, "refusing")
    with pytest.raises(KafkaException, match=r"Topic already has 1 partition\(s\)\."):
        admin.create_partitions([NewPartitions("refusing", 1)])["refusing"].result(TIMEOUT_S)
    elected = admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition("refusing", 0)]).result(TIMEOUT_S)
    assert [error.code() for error in elected.values()] == [ELECTION_NOT_NEEDED]
    newest = admin.list_offsets({TopicPartition("refusing", 0): OffsetSpec.max_timestamp()})
    assert next(iter(newest.values())).result(TIMEOUT_S).offset >= 0


def test_kafka_python_asks_for_everything(broker: BrokerProcess) -> None:
    filled_topic(broker.bootstrap_server, "inspected")
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_server)
    try:
        assert "inspected" in json.dumps(admin.describe_topic_partitions(["inspected"]), default=str)
        directories = json.dumps(admin.describe_log_dirs(), default=str)
        assert str(broker.data_dir) in directories
        assert "inspected" in directories
        assert "inspected" in json.dumps(
            [str(item) for item in admin.describe_producers([PyTopicPartition("inspected", 0)]).items()]
        )
        assert admin.list_partition_reassignments() == {}
        described = admin.describe_features()
        assert {name: (said["supported"], said["finalized"]) for name, said in described.items()} == {
            "group.version": ((0, 1), (1, 1))
        }
        with pytest.raises(InvalidUpdateVersionError, match="Local controller 1 does not support this feature"):
            admin.update_features({"transaction.version": (UpdateFeatureType.UPGRADE, 2)})
    finally:
        admin.close()


@NEEDS_JAVA
@pytest.mark.parametrize("version", VERSIONS_BY_SIZE)
def test_the_tools_of_apache_kafka(broker: BrokerProcess, version: str, tmp_path: Path) -> None:
    server, topic = ("--bootstrap-server", broker.bootstrap_server), f"toolbox-{version}"
    filled_topic(broker.bootstrap_server, topic)
    tools = JavaTools(version)
    assert tools.run("GetOffsetShell", *server, "--topic", topic, "--time", "earliest") == f"{topic}:0:0\n"
    assert tools.run("GetOffsetShell", *server, "--topic", topic) == f"{topic}:0:{RECORDS}\n"

    described = tools.run("LogDirsCommand", *server, "--describe", "--topic-list", topic)
    (found,) = json.loads(described.splitlines()[-1])["brokers"]
    (log_dir,) = found["logDirs"]
    assert log_dir["logDir"] == str(broker.data_dir)
    (replica,) = log_dir["partitions"]
    assert replica["size"] == (broker.data_dir / f"{topic}-0" / f"{0:020}.log").stat().st_size

    assignment = tmp_path / "assignment.json"
    partitions = [{"topic": topic, "partition": 0, "replicas": [1]}]
    assignment.write_text(json.dumps({"version": 1, "partitions": partitions}))
    reassign = ("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", *server)
    assert "No partition reassignments found." in tools.run(*reassign, "--list")
    verified = tools.run(*reassign, "--verify", "--reassignment-json-file", str(assignment))
    assert f"Reassignment of partition {topic}-0 is completed." in verified

    election = ("--election-type", "preferred", "--topic", topic, "--partition", "0")
    assert "Valid replica already elected" in tools.run("LeaderElectionCommand", *server, *election)
    producers = tools.run("TransactionsCommand", *server, "describe-producers", "--topic", topic, "--partition", "0")
    assert producers.startswith("ProducerId\tProducerEpoch\t")
    assert " ".join(tools.run("FeatureCommand", *server, "describe").split()) == (
        "Feature: group.version SupportedMinVersion: 0 SupportedMaxVersion: 1 FinalizedVersionLevel: 1 Epoch: 1"
    )
