"""What `Admin` asks that our broker does not serve: of Apache Kafka 3.9, with an authorizer and two log directories."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from kcore.client.admin.acls import Acl, AclFilter
from kcore.client.admin.admin import Admin
from kcore.client.admin.configs import CLIENT_METRICS_RESOURCE, SET, ConfigOperation, ConfigResource
from kcore.client.admin.log_dirs import BrokerReplica
from kcore.client.admin.producers import TransactionToAbort
from kcore.client.admin.results import failures, only, succeeded
from kcore.client.admin.scram_users import NewScramCredential, ScramCredential, _upsertion
from kcore.client.admin.topics import NewTopic
from kcore.client.errors import InvalidSetting, UnsupportedByBroker
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import KafkaError
from kcore.testing import EmbeddedBroker
from tests.apache_kafka import ApacheKafka

TIMEOUT_S = 30
AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
    "client.telemetry.enable": "true",
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    directory = tmp_path_factory.mktemp("kafka")
    directories = {"log.dirs": f"{directory / 'data'},{directory / 'more'}"}
    with ApacheKafka("3.9", directory / "data", {**AUTHORIZED, **directories}) as kafka:
        yield kafka


@pytest.fixture
def admin(kafka: ApacheKafka) -> Iterator[Admin]:
    with Admin(bootstrap_servers=kafka.bootstrap_server) as admin:
        yield admin


def eventually(ask: Callable[[], object], expected: object) -> None:
    """Brokers hear of a change after whoever made it was answered: asks until the answer is as expected."""
    deadline = time.monotonic() + TIMEOUT_S
    while (answer := ask()) != expected and time.monotonic() < deadline:
        time.sleep(0.02)
    assert answer == expected


pytestmark = pytest.mark.needs("java", "mvn")


def test_access_control_entries(admin: Admin) -> None:
    reading = Acl("TOPIC", "orders", "User:alice", "READ")
    prefixed = Acl("TOPIC", "ord", "User:alice", "WRITE", "DENY", "10.0.0.1", "PREFIXED")
    other = Acl("GROUP", "readers", "User:bob", "READ")
    assert admin.create_acls([reading, prefixed, other]) == {reading: None, prefixed: None, other: None}
    eventually(lambda: set(admin.describe_acls()), {reading, prefixed, other})
    assert set(admin.describe_acls(AclFilter(principal="User:alice"))) == {reading, prefixed}
    assert set(admin.describe_acls(AclFilter("TOPIC", "orders", pattern_type="MATCH"))) == {reading, prefixed}
    assert admin.describe_acls(AclFilter("TOPIC", "orders", pattern_type="LITERAL")) == [reading]
    nobody, alice = AclFilter(principal="User:nobody"), AclFilter(principal="User:alice")
    assert admin.delete_acls([nobody, alice]) == {nobody: {}, alice: {reading: None, prefixed: None}}
    eventually(admin.describe_acls, [other])
    refused = admin.create_acls([Acl("CLUSTER", "not-the-cluster", "User:alice", "READ")])
    assert len(failures(refused)) == 1


def test_scram_users(admin: Admin) -> None:
    news = [NewScramCredential("alice", "SCRAM-SHA-256", "secret"), NewScramCredential("alice", "SCRAM-SHA-512", "x")]
    assert admin.alter_user_scram_credentials(news[:1]) == {"alice": None}
    assert admin.alter_user_scram_credentials(news[1:]) == {"alice": None}
    both = [ScramCredential("SCRAM-SHA-256", 8192), ScramCredential("SCRAM-SHA-512", 8192)]
    eventually(admin.describe_user_scram_credentials, {"alice": both})
    removals = [("alice", "SCRAM-SHA-256"), ("bob", "SCRAM-SHA-256")]
    outcomes = admin.alter_user_scram_credentials(deletions=removals)
    assert (outcomes["alice"], list(failures(outcomes))) == (None, ["bob"])
    eventually(admin.describe_user_scram_credentials, {"alice": both[1:]})
    with pytest.raises(InvalidSetting, match="must be one of SCRAM-SHA-256, SCRAM-SHA-512"):
        admin.alter_user_scram_credentials([NewScramCredential("alice", "PLAIN", "secret")])


def test_a_password_is_salted_as_rfc_7677_has_it() -> None:
    """The example of RFC 7677: with this salt and 4096 iterations the client key gives the known server signature."""
    import base64
    import hmac

    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    row = _upsertion(NewScramCredential("user", "SCRAM-SHA-256", "pencil", 4096, salt))
    server_key = hmac.digest(row["salted_password"], b"Server Key", hashlib.sha256)
    message = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    signature = base64.b64encode(hmac.digest(server_key, message, hashlib.sha256))
    assert signature == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_transactions(admin: Admin, kafka: ApacheKafka) -> None:
    assert failures(admin.create_topics([NewTopic("transacted", 2, 1)])) == {}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_server, "transactional.id": "orders"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("transacted", b"x", partition=1)
    assert producer.flush(TIMEOUT_S) == 0
    place = TopicPartition("transacted", 1)
    described = admin.describe_transactions(["orders", "nobody"])
    found = succeeded(described)["orders"]
    assert (found.state, found.partitions) == ("Ongoing", [place])
    assert found.started_ms is not None
    missing = described["nobody"]
    assert isinstance(missing, KafkaError)
    assert missing.code == 105
    listed, troubles = admin.list_transactions(states=["Ongoing"])
    assert troubles == []
    assert [(one.transactional_id, one.producer_id, one.state) for one in listed] == [
        ("orders", found.producer_id, "Ongoing")
    ]
    assert admin.list_transactions(producer_ids=[found.producer_id + 1]) == ([], [])
    assert admin.list_transactions(open_for_ms=3_600_000) == ([], [])
    [state] = only(admin.describe_producers([place]))
    assert (state.producer_id, state.transaction_start_offset) == (found.producer_id, 0)

    fenced = only(admin.fence_producers(["orders"]))
    assert fenced.producer_id == found.producer_id
    assert fenced.producer_epoch > found.producer_epoch
    eventually(lambda: only(admin.describe_transactions(["orders"])).partitions, [])
    eventually(lambda: only(admin.describe_producers([place]))[0].transaction_start_offset, -1)
    del producer


def test_a_hanging_transaction_is_aborted_by_its_partition(admin: Admin, kafka: ApacheKafka) -> None:
    assert failures(admin.create_topics([NewTopic("hanging", 1, 1)])) == {}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_server, "transactional.id": "hanging"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("hanging", b"x", partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    place = TopicPartition("hanging", 0)
    [state] = only(admin.describe_producers([place]))
    assert state.transaction_start_offset == 0
    admin.abort_transaction(TransactionToAbort(place, state.producer_id, state.producer_epoch, state.coordinator_epoch))
    [state] = only(admin.describe_producers([place]))
    assert state.transaction_start_offset == -1
    del producer


def test_a_replica_moves_to_another_directory(admin: Admin) -> None:
    assert failures(admin.create_topics([NewTopic("moved", 1, 1)])) == {}
    [broker] = admin.brokers()
    place = TopicPartition("moved", 0)

    def directories() -> list[str]:
        described = succeeded(admin.describe_log_dirs(partitions=[place]))[broker.id]
        return [found.path for found in described for replica in found.replicas if not replica.is_future]

    eventually(lambda: len(directories()), 1)
    [before] = directories()
    [other] = {found.path for found in succeeded(admin.describe_log_dirs())[broker.id]} - {before}
    here, nowhere = BrokerReplica(broker.id, place), BrokerReplica(4711, place)
    outcomes = admin.alter_replica_log_dirs({here: other, nowhere: other})
    assert outcomes[here] is None
    assert "not in the cluster" in str(outcomes[nowhere])
    eventually(directories, [other])
    refused = admin.alter_replica_log_dirs({here: "/no/such/directory"})[here]
    assert isinstance(refused, KafkaError)
    assert refused.code == 57


def test_client_metrics_subscriptions(admin: Admin) -> None:
    assert admin.list_client_metrics_resources() == []
    resource = ConfigResource(CLIENT_METRICS_RESOURCE, "ours")
    assert admin.alter_configs({resource: [ConfigOperation("interval.ms", SET, "10000")]}) == {resource: None}
    eventually(admin.list_client_metrics_resources, ["ours"])
    assert "10000" in {config.value for config in only(admin.describe_configs([resource]))}


def test_the_quorum(admin: Admin) -> None:
    quorum = admin.describe_quorum()
    [voter] = quorum.voters
    assert (voter.replica_id, quorum.leader_id, quorum.observers) == (1, 1, [])
    assert quorum.high_watermark > 0
    with pytest.raises(KafkaError):
        admin.unregister_broker(4711)


def test_our_broker_says_what_it_does_not_serve() -> None:
    with EmbeddedBroker() as broker, Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        for ask in (admin.describe_acls, admin.describe_quorum):
            with pytest.raises(UnsupportedByBroker, match="the broker does not support"):
                ask()
