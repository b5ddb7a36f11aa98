"""`Admin` against our broker and against Apache Kafka 3.9: the same calls, the same assertions.

What they are asked about was made by confluent-kafka, so that no mistake of ours can hide another.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as ConfluentPartition

from kcore.client.admin.admin import Admin
from kcore.client.admin.client_quotas import MATCH_NAME, ClientQuotas, QuotaChange
from kcore.client.admin.configs import (
    APPEND,
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    DELETE,
    SET,
    TOPIC_RESOURCE,
    ConfigOperation,
    ConfigResource,
)
from kcore.client.admin.group_offsets import CommittedOffset
from kcore.client.admin.groups import CLASSIC, GroupDescription
from kcore.client.admin.partitions import PREFERRED, UNCLEAN, NewPartitions
from kcore.client.admin.records import EARLIEST, HIGH_WATERMARK, LATEST, MAX_TIMESTAMP
from kcore.client.admin.results import Failure, failures, only, succeeded
from kcore.client.admin.topics import CreatedTopic, NewTopic
from kcore.client.errors import ClientError, UnknownPartition, UnknownTopic
from kcore.client.metadata.cluster import TopicPartition
from kcore.config.definition import ConfigException
from kcore.errors import KafkaError
from tests.broker_process import BrokerProcess

TIMEOUT_S = 60
FIRST_TIMESTAMP = 1_700_000_000_000
ID_OF_NOBODY = b"\x07" * 16


@pytest.fixture(scope="module")
def our_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("ours") / "data") as broker:
        yield broker.bootstrap_server


@pytest.fixture(
    scope="module",
    params=["ours", pytest.param("apache_kafka_39", marks=[pytest.mark.needs("java", "mvn"), pytest.mark.full_size])],
)
def server(request: pytest.FixtureRequest) -> str:
    if request.param == "ours":
        return str(request.getfixturevalue("our_server"))
    return str(request.getfixturevalue(request.param).bootstrap_server)


@pytest.fixture
def admin(server: str) -> Iterator[Admin]:
    with Admin(bootstrap_servers=server) as admin:
        yield admin


@pytest.fixture
def topic(admin: Admin) -> str:
    """A new topic with three partitions, which have leaders and logs."""
    name = f"admin-{uuid.uuid4().hex[:12]}"
    assert failures(admin.create_topics([NewTopic(name, 3, 1)])) == {}
    ends = {TopicPartition(name, number): LATEST for number in range(3)}
    eventually(lambda: failures(admin.list_offsets(ends)), {})
    return name


def produce(server: str, topic: str, count: int, partition: int = 0) -> None:
    """Records with the timestamps FIRST_TIMESTAMP, + 1 s, ..."""
    producer = Producer({"bootstrap.servers": server, "linger.ms": 0})
    for number in range(count):
        producer.produce(topic, b"%d" % number, partition=partition, timestamp=FIRST_TIMESTAMP + number * 1000)
    assert producer.flush(TIMEOUT_S) == 0


def eventually(ask: Callable[[], object], expected: object) -> None:
    """Kafka's brokers hear of a change after whoever made it was answered: asks until the answer is as expected."""
    deadline = time.monotonic() + TIMEOUT_S
    while (answer := ask()) != expected and time.monotonic() < deadline:
        time.sleep(0.02)
    assert answer == expected


def codes(results: dict[TopicPartition, Failure | None] | dict[str, Failure | None]) -> list[int | None]:
    return [result.code if isinstance(result, KafkaError) else None for result in results.values()]


def code_of(result: object) -> int:
    assert isinstance(result, KafkaError), result
    return result.code


# Topics


def test_topics_are_made_described_and_ended(admin: Admin, topic: str) -> None:
    other = f"{topic}.other"
    made = admin.create_topics(
        [NewTopic(other, 2, 1, {"retention.ms": "5000"}), NewTopic(topic, 1, 1), NewTopic("a/b", 1, 1)]
    )
    created = made[other]
    assert isinstance(created, CreatedTopic)
    assert (created.partitions, created.replication_factor, created.configs["retention.ms"]) == (2, 1, "5000")
    assert (code_of(made[topic]), code_of(made["a/b"])) == (36, 17)
    eventually(lambda: failures(admin.describe_topics([other])), {})

    described = admin.describe_topics([topic, "nowhere", other])
    found = succeeded(described)
    assert {name: len(each.partitions) for name, each in found.items()} == {topic: 3, other: 2}
    assert found[other].topic_id == created.topic_id
    assert isinstance(described["nowhere"], UnknownTopic)
    by_id = admin.describe_topics_by_id([created.topic_id, ID_OF_NOBODY])
    # Only DescribeTopicPartitions tells of eligible leader replicas.
    unknown = {"eligible_leader_replicas": None, "last_known_elr": None}
    common = {
        name: each._replace(partitions=[part._replace(**unknown) for part in each.partitions])
        for name, each in found.items()
    }
    assert by_id[created.topic_id] == common[other]
    assert code_of(by_id[ID_OF_NOBODY]) == 100
    assert {topic, other} <= {each.name for each in admin.list_topics()}
    assert admin.describe_topics_by_page([topic, other], page_size=2) == sorted(found.values())

    ended = admin.delete_topics([other, "nowhere"])
    assert ended[other] is None
    assert code_of(ended["nowhere"]) == 3
    eventually(lambda: type(admin.describe_topics([other])[other]), UnknownTopic)


def test_a_rehearsal_changes_nothing(admin: Admin, topic: str) -> None:
    rehearsed = f"{topic}.rehearsed"
    assert failures(admin.create_topics([NewTopic(rehearsed, 1, 1)], validate_only=True)) == {}
    assert failures(admin.create_partitions([NewPartitions(topic, 9)], validate_only=True)) == {}
    resource = ConfigResource(TOPIC_RESOURCE, topic)
    change = {resource: [ConfigOperation("retention.ms", SET, "7000")]}
    assert admin.alter_configs(change, validate_only=True) == {resource: None}
    assert isinstance(admin.describe_topics([rehearsed])[rehearsed], UnknownTopic)
    assert len(only(admin.describe_topics([topic])).partitions) == 3
    [config] = only(admin.describe_configs([resource], ["retention.ms"]))
    assert config.value == "604800000"


def test_partitions_are_added(admin: Admin, topic: str) -> None:
    outcomes = admin.create_partitions([NewPartitions(topic, 5), NewPartitions("nowhere", 5)])
    assert outcomes[topic] is None
    assert code_of(outcomes["nowhere"]) == 3
    eventually(lambda: len(only(admin.describe_topics([topic])).partitions), 5)
    assert code_of(admin.create_partitions([NewPartitions(topic, 2)])[topic]) == 37


def test_leaders_are_elected(admin: Admin, topic: str) -> None:
    places = [TopicPartition(topic, 0), TopicPartition(topic, 99), TopicPartition("nowhere", 0)]
    # Nothing to do, and not there.
    assert codes(admin.elect_leaders(PREFERRED, places)) == [84, 3, 3]
    assert codes(admin.elect_leaders(UNCLEAN, places[:1])) == [84]
    assert admin.elect_leaders() == {}


def test_replicas_are_reassigned(admin: Admin, topic: str) -> None:
    [broker] = admin.brokers()
    there, nowhere = TopicPartition(topic, 0), TopicPartition("nowhere", 0)
    assert codes(admin.alter_partition_reassignments({there: [broker.id], nowhere: [broker.id]})) == [None, 3]
    assert codes(admin.alter_partition_reassignments({there: [broker.id, 99]})) == [39]
    assert codes(admin.alter_partition_reassignments({there: None})) == [85]
    assert admin.list_partition_reassignments([there]) == {}
    assert admin.list_partition_reassignments() == {}


# Records


def test_offsets_are_found_by_time(admin: Admin, server: str, topic: str) -> None:
    produce(server, topic, 5)
    place, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    beyond, nowhere = TopicPartition(topic, 9), TopicPartition("nowhere", 0)
    wanted = {
        FIRST_TIMESTAMP + 1500: (2, FIRST_TIMESTAMP + 2000),
        FIRST_TIMESTAMP + 9000: (-1, -1),
        LATEST: (5, -1),
        EARLIEST: (0, -1),
        MAX_TIMESTAMP: (4, FIRST_TIMESTAMP + 4000),
    }
    for time_ms, expected in wanted.items():
        assert only(admin.list_offsets({place: time_ms}))[:2] == expected
    listed = admin.list_offsets(dict.fromkeys([place, empty, beyond, nowhere], LATEST))
    assert {place: found.offset for place, found in succeeded(listed).items()} == {place: 5, empty: 0}
    assert isinstance(listed[beyond], UnknownPartition)
    assert isinstance(listed[nowhere], UnknownTopic)


def test_records_are_deleted(admin: Admin, server: str, topic: str) -> None:
    produce(server, topic, 5)
    place, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert admin.delete_records({place: 3, empty: HIGH_WATERMARK}) == {place: 3, empty: 0}
    assert only(admin.list_offsets({place: EARLIEST})).offset == 3
    assert code_of(admin.delete_records({place: 6})[place]) == 1
    assert admin.delete_records({place: HIGH_WATERMARK}) == {place: 5}


def test_producers_are_described(admin: Admin, server: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": server, "enable.idempotence": True})
    producer.produce(topic, b"x", partition=0)
    producer.produce(topic, b"x", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    place, idle, beyond = (TopicPartition(topic, number) for number in (0, 1, 9))
    described = admin.describe_producers([place, idle, beyond])
    [state] = succeeded(described)[place]
    assert (state.producer_epoch, state.transaction_start_offset) == (0, -1)
    assert state.last_sequence in (0, 1)
    assert described[idle] == []
    assert isinstance(described[beyond], UnknownPartition)


@pytest.mark.needs("java", "mvn")
@pytest.mark.parametrize("server", ["apache_kafka_39"], indirect=True)
def test_producers_are_shut_out(admin: Admin, server: str, topic: str) -> None:
    """Our broker has no transactions yet."""
    producer = Producer({"bootstrap.servers": server, "transactional.id": topic})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"x", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    place = TopicPartition(topic, 0)
    [state] = only(admin.describe_producers([place]))
    assert state.transaction_start_offset == 0
    # The broker aborts the open transaction first, and says so until that is done.
    fenced = only(admin.fence_producers([topic]))
    assert fenced.producer_id == state.producer_id
    assert fenced.producer_epoch > state.producer_epoch
    with pytest.raises(KafkaException):
        producer.commit_transaction(TIMEOUT_S)


# Configurations


def value_of(admin: Admin, resource: ConfigResource, name: str) -> tuple[str | None, str]:
    [config] = only(admin.describe_configs([resource], [name]))
    return config.value, config.source


def test_configurations_are_described_and_altered(admin: Admin, topic: str) -> None:
    [broker] = admin.brokers()
    here, nowhere = ConfigResource(TOPIC_RESOURCE, topic), ConfigResource(TOPIC_RESOURCE, "nowhere")
    one, all_brokers = ConfigResource(BROKER_RESOURCE, str(broker.id)), ConfigResource(BROKER_RESOURCE, "")
    altered = admin.alter_configs(
        {
            here: [ConfigOperation("retention.ms", SET, "9000"), ConfigOperation("cleanup.policy", APPEND, "compact")],
            one: [ConfigOperation("log.cleaner.threads", SET, "2")],
            nowhere: [ConfigOperation("retention.ms", SET, "1")],
        }
    )
    assert (altered[here], altered[one]) == (None, None)
    assert code_of(altered[nowhere]) == 3
    eventually(lambda: value_of(admin, here, "retention.ms"), ("9000", "DYNAMIC_TOPIC_CONFIG"))
    eventually(lambda: value_of(admin, one, "log.cleaner.threads"), ("2", "DYNAMIC_BROKER_CONFIG"))
    described = admin.describe_configs([here, nowhere, one, all_brokers], include_documentation=True)
    by_name = {config.name: config for config in succeeded(described)[here]}
    assert by_name["retention.ms"][:5] == ("retention.ms", "9000", "DYNAMIC_TOPIC_CONFIG", False, False)
    assert by_name["retention.ms"].type == "LONG"
    assert by_name["retention.ms"].synonyms[0] == ("retention.ms", "9000", "DYNAMIC_TOPIC_CONFIG")
    assert by_name["retention.ms"].documentation
    assert by_name["cleanup.policy"].value == "delete,compact"
    assert code_of(described[nowhere]) == 3

    undone = {here: [ConfigOperation("retention.ms", DELETE)], one: [ConfigOperation("log.cleaner.threads", DELETE)]}
    assert admin.alter_configs(undone) == {here: None, one: None}
    eventually(lambda: value_of(admin, here, "retention.ms"), ("604800000", "DEFAULT_CONFIG"))
    wrong = {here: [ConfigOperation("retention.ms", SET, "x")]}
    assert code_of(admin.alter_configs(wrong)[here]) == 40


def test_loggers_are_a_brokers_own(admin: Admin) -> None:
    [broker] = admin.brokers()
    loggers = ConfigResource(BROKER_LOGGER_RESOURCE, str(broker.id))
    assert only(admin.describe_configs([loggers]))
    stranger = ConfigResource(BROKER_RESOURCE, "4711")
    assert code_of(admin.describe_configs([stranger])[stranger]) in (40, 42)


# Groups


def consume(server: str, group: str, topic: str, **properties: str) -> Consumer:
    """A consumer with its partitions assigned."""
    consumer = Consumer(
        {
            "bootstrap.servers": server,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **properties,
        }
    )
    consumer.subscribe([topic])
    for _ in range(TIMEOUT_S * 10):
        if consumer.poll(0.1) is not None:
            return consumer
    raise AssertionError("nothing came")


def test_a_group_with_a_member(admin: Admin, server: str, topic: str) -> None:
    produce(server, topic, 3)
    group = f"group-{topic}"
    # It does not hear soon that it was removed, and so does not come back.
    quiet = {"heartbeat.interval.ms": "20000", "session.timeout.ms": "45000"}
    consumer = consume(server, group, topic, **{"group.instance.id": "first", "client.id": "reader", **quiet})
    try:
        consumer.commit(offsets=[ConfluentPartition(topic, 0, 2)], asynchronous=False)
        described = admin.describe_groups([group, "nobody"])
        found = described[group]
        assert isinstance(found, GroupDescription)
        assert (found.type, found.state, found.protocol_type, found.assignor) == (
            CLASSIC,
            "Stable",
            "consumer",
            "range",
        )
        [member] = found.members
        assert (member.instance_id, member.client_id) == ("first", "reader")
        assert member.assignment == [TopicPartition(topic, number) for number in range(3)]
        assert code_of(described["nobody"]) == 69
        listed, troubles = admin.list_groups(states=["Stable"])
        assert troubles == []
        assert group in {each.group_id for each in listed}
        assert group not in {each.group_id for each in admin.list_groups(states=["Empty"])[0]}

        place = TopicPartition(topic, 0)
        offsets = admin.committed_offsets([group, "nobody"])
        assert offsets["nobody"] == {}
        assert succeeded(offsets)[group][place].offset == 2
        # While somebody is in the group nothing about it can be changed.
        assert codes(admin.alter_offsets(group, {place: 0})) == [25]
        assert codes(admin.delete_offsets(group, [place])) == [86]
        assert code_of(admin.delete_groups([group])[group]) == 68
        assert codes(admin.remove_members(group, ["first", "second"])) == [None, 25]
        assert succeeded(admin.describe_groups([group]))[group].state == "Empty"
        with pytest.raises(KafkaError) as refused:
            admin.remove_members("nobody")
        assert refused.value.code == 69
    finally:
        consumer.close()


def test_a_group_without_members(admin: Admin, topic: str) -> None:
    group = f"group-{topic}"
    first, second, nowhere = TopicPartition(topic, 0), TopicPartition(topic, 1), TopicPartition("nowhere", 0)
    altered = admin.alter_offsets(group, {first: 5, second: CommittedOffset(7, 0, "seven"), nowhere: 1})
    assert codes(altered) == [None, None, 3]
    offsets = succeeded(admin.committed_offsets([group]))[group]
    assert offsets == {first: CommittedOffset(5), second: CommittedOffset(7, 0, "seven")}
    assert succeeded(admin.describe_groups([group]))[group].members == []
    assert admin.remove_members(group) == {}
    assert codes(admin.delete_offsets(group, [first])) == [None]
    assert succeeded(admin.committed_offsets([group]))[group].keys() == {second}
    outcomes = admin.delete_groups([group, "nobody"])
    assert outcomes[group] is None
    assert code_of(outcomes["nobody"]) == 69
    with pytest.raises(KafkaError) as refused:
        admin.delete_offsets(group, [first])
    assert refused.value.code == 69


# The cluster and its brokers


def test_the_cluster_is_described(admin: Admin, server: str) -> None:
    described = admin.describe_cluster(include_authorized_operations=True)
    [broker] = described.brokers
    assert str(broker) == server
    assert described.controller_id == broker.id
    assert described.cluster_id
    assert described.authorized_operations is not None
    assert {"ALTER", "CREATE", "DESCRIBE"} <= described.authorized_operations
    assert admin.describe_cluster().authorized_operations is None
    versions = admin.api_versions(broker)
    assert versions[3][1] >= 12
    with pytest.raises(ClientError, match="broker 4711 is not in the cluster"):
        admin.broker(4711)


def test_log_directories_are_described(admin: Admin, server: str, topic: str) -> None:
    produce(server, topic, 10, partition=1)
    places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    [directories] = succeeded(admin.describe_log_dirs(partitions=places)).values()
    replicas = {replica.partition: replica for directory in directories for replica in directory.replicas}
    assert replicas.keys() == set(places)
    assert replicas[places[0]].size_bytes == 0 < replicas[places[1]].size_bytes
    assert all(directory.error is None and directory.total_bytes > 0 for directory in directories)
    assert not any(replica.is_future or replica.offset_lag for replica in replicas.values())


def test_features_are_described_and_refused(admin: Admin) -> None:
    features = admin.describe_features()
    for name, level in features.finalized.items():
        lowest, highest = features.supported[name]
        assert lowest <= level <= highest
    with pytest.raises(KafkaError):
        only(admin.update_features({"no.such.feature": 1}))


def quotas_of(admin: Admin, user: str) -> list[ClientQuotas]:
    return sorted(admin.describe_client_quotas([("user", MATCH_NAME, user)]), key=lambda found: len(found.entity))


def test_client_quotas_are_set_and_removed(admin: Admin, topic: str) -> None:
    user, client_id = {"user": topic}, {"user": topic, "client-id": "reader"}
    changes = [QuotaChange(user, {"producer_byte_rate": 1e6}), QuotaChange(client_id, {"consumer_byte_rate": 2e6})]
    assert admin.alter_client_quotas(changes) == [None, None]
    expected = [ClientQuotas(user, {"producer_byte_rate": 1e6}), ClientQuotas(client_id, {"consumer_byte_rate": 2e6})]
    eventually(lambda: quotas_of(admin, topic), expected)
    [strict] = admin.describe_client_quotas([("user", MATCH_NAME, topic)], strict=True)
    assert strict.entity == user
    removals = [QuotaChange(user, {"producer_byte_rate": None}), QuotaChange(client_id, {"consumer_byte_rate": None})]
    assert admin.alter_client_quotas(removals) == [None, None]
    eventually(lambda: quotas_of(admin, topic), [])
    [refusal] = admin.alter_client_quotas([QuotaChange(user, {"no_such_quota": 1.0})])
    assert code_of(refusal) == 42


def test_scram_users(admin: Admin) -> None:
    assert admin.describe_user_scram_credentials() == {}
    assert code_of(admin.describe_user_scram_credentials(["nobody"])["nobody"]) == 91


# The object


def test_its_configuration_is_checked() -> None:
    with pytest.raises(ConfigException, match=r"You must set either bootstrap\.servers"):
        Admin()
    with pytest.raises(ConfigException, match=r"did you mean request\.timeout\.ms"):
        Admin(bootstrap_servers="localhost:1", request_timeout_m=5)
