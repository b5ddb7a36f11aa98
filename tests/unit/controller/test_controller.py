"""The controller: topics as Kafka makes, refuses and deletes them, leaders after a start, ISR changes, producer ids."""

from __future__ import annotations

from threading import Thread

import pytest

from kcore import errors, uuid
from kcore.config.broker import BrokerConfig
from kcore.controller import quota_plan
from kcore.controller.controller import Controller
from kcore.controller.local_store import Transaction
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.controller.new_topic import NewPartitions, NewTopic
from kcore.metadata.image import NO_LEADER, TOPIC_RESOURCE, BrokerRegistration, PartitionState


class Cluster:
    """A controller over metadata that outlive it."""

    def __init__(self, **properties: str) -> None:
        self.config = BrokerConfig({name.replace("_", "."): value for name, value in properties.items()})
        self.metadata = MemoryMetadata()
        self.store = MemoryMetadataStore(self.metadata)
        self.controller = Controller(self.store, self.config)

    def start(self, *broker_ids: int) -> Controller:
        self.store = MemoryMetadataStore(self.metadata)
        self.store.open("cluster")
        self.controller = Controller(self.store, self.config)
        self.controller.start(broker_ids[0])
        self.registrations = [self.controller.register_broker(BrokerRegistration(broker)) for broker in broker_ids]
        return self.controller

    def state(self, topic: str, partition: int = 0) -> PartitionState:
        state = self.store.image.partition(topic, partition)
        assert state is not None
        return state

    def error(self, new: NewTopic, validate_only: bool = False) -> errors.KafkaError:
        (result,) = self.controller.create_topics([new], validate_only)
        assert result.error is not None
        return result.error


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.start(1)
    return cluster


class TestCreateTopics:
    def test_a_topic_has_an_id_a_leader_and_its_overrides(self, cluster: Cluster) -> None:
        (result,) = cluster.controller.create_topics([NewTopic("orders", 3, 1, configs={"retention.ms": "5"})])
        assert result.error is None
        topic = cluster.store.image.topics["orders"]
        assert result.topic == topic
        assert result.topic_id == topic.topic_id != uuid.ZERO
        assert topic.partitions == tuple(PartitionState("orders", index, (1,), (1,), 1) for index in range(3))
        assert cluster.controller.topic_config("orders")["retention.ms"] == 5

    def test_defaults_are_the_brokers(self) -> None:
        cluster = Cluster(num_partitions="4", default_replication_factor="2")
        cluster.start(1, 2)
        (result,) = cluster.controller.create_topics([NewTopic("orders")])
        assert result.topic is not None
        assert len(result.topic.partitions) == 4
        assert result.topic.replication_factor == 2
        assert {state.leader for state in result.topic.partitions} == {1, 2}

    def test_a_manual_assignment_is_taken_as_it_is(self) -> None:
        cluster = Cluster()
        cluster.start(1, 2)
        cluster.controller.create_topics([NewTopic("orders", assignments=[(0, [2, 1]), (1, [1, 2])])])
        assert cluster.state("orders", 0) == PartitionState("orders", 0, (2, 1), (2, 1), 2)
        assert cluster.state("orders", 1) == PartitionState("orders", 1, (1, 2), (1, 2), 1)

    def test_validation_alone_changes_nothing(self, cluster: Cluster) -> None:
        before = cluster.store.image
        (result,) = cluster.controller.create_topics([NewTopic("orders", 2, 1)], validate_only=True)
        assert result.error is None
        assert result.topic is not None
        assert len(result.topic.partitions) == 2
        assert cluster.store.image is before
        assert cluster.error(NewTopic("a b"), validate_only=True).name == "INVALID_TOPIC_EXCEPTION"

    def test_one_bad_topic_does_not_stop_the_others(self, cluster: Cluster) -> None:
        results = cluster.controller.create_topics([NewTopic("a"), NewTopic("b", 0), NewTopic("c"), NewTopic("c")])
        assert [(result.name, result.error.name if result.error else None) for result in results] == [
            ("a", None),
            ("b", "INVALID_PARTITIONS"),
            ("c", "INVALID_REQUEST"),
        ]
        assert list(cluster.store.image.topics) == ["a"]

    @pytest.mark.parametrize(
        ("new", "name", "message"),
        [
            (NewTopic("taken"), "TOPIC_ALREADY_EXISTS", "Topic 'taken' already exists."),
            (
                NewTopic("wide", 1, 3),
                "INVALID_REPLICATION_FACTOR",
                "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached "
                "because only 1 broker(s) are registered.",
            ),
            (
                NewTopic("thin", 1, 0),
                "INVALID_REPLICATION_FACTOR",
                "Replication factor must be larger than 0, or -1 to use the default value.",
            ),
            (
                NewTopic("none", -3, 1),
                "INVALID_PARTITIONS",
                "Number of partitions was set to an invalid non-positive value.",
            ),
            (
                NewTopic("dotted_name"),
                "INVALID_TOPIC_EXCEPTION",
                "Topic 'dotted_name' collides with existing topic: dotted.name",
            ),
            (NewTopic(""), "INVALID_TOPIC_EXCEPTION", "Topic name is invalid: the empty string is not allowed"),
            (
                NewTopic("__cluster_metadata"),
                "INVALID_REQUEST",
                "Creation of internal topic __cluster_metadata is prohibited.",
            ),
            (
                NewTopic("manual", assignments=[(0, [7])]),
                "INVALID_REPLICA_ASSIGNMENT",
                "The manual partition assignment includes broker 7, but no such broker is registered.",
            ),
            (
                NewTopic("manual", 1, assignments=[(0, [1])]),
                "INVALID_REQUEST",
                "A manual partition assignment was specified, but numPartitions was not set to -1.",
            ),
            (
                NewTopic("manual", -1, 1, assignments=[(0, [1])]),
                "INVALID_REQUEST",
                "A manual partition assignment was specified, but replication factor was not set to -1.",
            ),
            (
                NewTopic("odd", configs={"no.such.config": "1"}),
                "INVALID_CONFIG",
                "Unknown topic config name: no.such.config",
            ),
        ],
    )
    def test_refusals_in_kafkas_words(self, cluster: Cluster, new: NewTopic, name: str, message: str) -> None:
        cluster.controller.create_topics([NewTopic("taken"), NewTopic("dotted.name")])
        error = cluster.error(new)
        assert (error.name, error.message) == (name, message)
        assert sorted(cluster.store.image.topics) == ["dotted.name", "taken"]

    def test_a_value_that_a_config_cannot_have(self, cluster: Cluster) -> None:
        error = cluster.error(NewTopic("odd", configs={"cleanup.policy": "shred"}))
        assert error.name == "INVALID_CONFIG"
        assert "cleanup.policy" in error.message

    def test_topics_that_ask_for_compaction_are_named(
        self, cluster: Cluster, capsys: pytest.CaptureFixture[str]
    ) -> None:
        missing = "Logs are not compacted in this version. All records are kept of the topics with"
        cluster.controller.auto_create_topics(["__consumer_offsets"])
        cluster.controller.create_topics([NewTopic("deleted"), NewTopic("both", configs={"cleanup.policy": "delete"})])
        assert missing not in capsys.readouterr().err
        cluster.controller.create_topics([NewTopic("table", configs={"cleanup.policy": "compact,delete"})])
        assert f"{missing} cleanup.policy=compact: table\n" in capsys.readouterr().err
        cluster.controller.change_configs(TOPIC_RESOURCE, "deleted", lambda _: {"cleanup.policy": "compact"})
        assert f"{missing} cleanup.policy=compact: deleted\n" in capsys.readouterr().err
        cluster.controller.start(1)
        assert f"{missing} cleanup.policy=compact: deleted, table\n" in capsys.readouterr().err


class TestAutoCreation:
    def test_internal_topics_are_made_as_they_have_to_be(self, cluster: Cluster) -> None:
        names = ["__consumer_offsets", "__transaction_state"]
        assert [result.error for result in cluster.controller.auto_create_topics(names)] == [None, None]
        for name in names:
            topic = cluster.store.image.topics[name]
            assert topic.is_internal
            assert (len(topic.partitions), topic.replication_factor) == (50, 1)
            config = cluster.controller.topic_config(name)
            assert config["cleanup.policy"] == ("compact",)
            assert config["segment.bytes"] == 104_857_600

    def test_other_topics_get_the_brokers_defaults(self) -> None:
        cluster = Cluster(num_partitions="3")
        cluster.start(1)
        good, bad = cluster.controller.auto_create_topics(["orders", "or ders"])
        assert good.topic is not None
        assert len(good.topic.partitions) == 3
        assert isinstance(bad.error, errors.InvalidTopicError)


class TestDeleteTopics:
    def test_by_name_and_by_id(self, cluster: Cluster) -> None:
        created = cluster.controller.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("c")])
        results = cluster.controller.delete_topics(["a"], [created[1].topic_id])
        assert [(result.name, result.topic_id, result.error) for result in results] == [
            ("a", created[0].topic_id, None),
            ("b", created[1].topic_id, None),
        ]
        assert list(cluster.store.image.topics) == ["c"]
        assert cluster.store.deleted_topic_ids() == {created[0].topic_id, created[1].topic_id}
        cluster.controller.finish_deletions()
        assert cluster.store.deleted_topic_ids() == frozenset()

    def test_unknown_ones(self, cluster: Cluster) -> None:
        results = cluster.controller.delete_topics(["nope"], [bytes(15) + b"\x05"])
        assert [(result.name, result.error.name if result.error else None) for result in results] == [
            ("nope", "UNKNOWN_TOPIC_OR_PARTITION"),
            ("", "UNKNOWN_TOPIC_ID"),
        ]

    def test_deletion_can_be_forbidden(self) -> None:
        cluster = Cluster(delete_topic_enable="false")
        cluster.start(1)
        cluster.controller.create_topics([NewTopic("a")])
        (result,) = cluster.controller.delete_topics(["a"])
        assert isinstance(result.error, errors.TopicDeletionDisabledError)
        assert "a" in cluster.store.image.topics

    def test_a_topic_created_again_has_another_id(self, cluster: Cluster) -> None:
        (first,) = cluster.controller.create_topics([NewTopic("a")])
        cluster.controller.delete_topics(["a"])
        (second,) = cluster.controller.create_topics([NewTopic("a")])
        assert first.topic_id != second.topic_id


class CreatedMeanwhile(NewPartitions):
    """Partitions for a topic that somebody creates after the controller has looked at the metadata."""

    def __init__(self, cluster: Cluster, name: str, total_count: int) -> None:
        super().__init__(name, total_count)
        self._cluster = cluster

    def __getattribute__(self, attribute: str) -> object:
        if attribute == "name":
            # A second creation is refused as one of a topic that exists.
            self._cluster.controller.create_topics([NewTopic("orders", 1, 1)])
        return super().__getattribute__(attribute)


class TestCreatePartitions:
    def test_the_limit_of_a_request_holds_for_a_topic_that_is_created_meanwhile(self, cluster: Cluster) -> None:
        """The limit was checked outside the lock, where a missing topic counted as no partitions to add."""
        cluster.controller.create_partitions([CreatedMeanwhile(cluster, "orders", 10_002)])
        assert len(cluster.store.image.topics["orders"].partitions) == 1

    def test_a_request_adds_no_more_than_its_limit_to_all_topics_together(self, cluster: Cluster) -> None:
        cluster.controller.create_topics([NewTopic("a", 1, 1), NewTopic("b", 1, 1), NewTopic("c", 1, 1)])
        additions = [NewPartitions("a", 9_001), NewPartitions("b", 2**31 - 1), NewPartitions("c", 1_001)]
        results = cluster.controller.create_partitions(additions, validate_only=True)
        assert [result.error.name if result.error else None for result in results] == [None, "POLICY_VIOLATION", None]

    def test_they_are_added_behind_the_last(self, cluster: Cluster) -> None:
        cluster.controller.create_topics([NewTopic("orders", 2, 1)])
        (result,) = cluster.controller.create_partitions([NewPartitions("orders", 4)])
        assert result.error is None
        assert [state.partition for state in cluster.store.image.topics["orders"].partitions] == [0, 1, 2, 3]
        assert cluster.state("orders", 3) == PartitionState("orders", 3, (1,), (1,), 1)

    @pytest.mark.parametrize(
        ("new", "name", "message"),
        [
            (NewPartitions("orders", 2), "INVALID_PARTITIONS", "Topic already has 2 partition(s)."),
            (
                NewPartitions("orders", 1),
                "INVALID_PARTITIONS",
                "The topic orders currently has 2 partition(s); 1 would not be an increase.",
            ),
            (
                NewPartitions("orders", 4, [[1]]),
                "INVALID_REPLICA_ASSIGNMENT",
                "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
            ),
            (
                NewPartitions("orders", 3, [[1, 2]]),
                "INVALID_REPLICA_ASSIGNMENT",
                "The manual partition assignment includes a partition with 2 replica(s), but this is not consistent "
                "with previous partitions, which have 1 replica(s).",
            ),
        ],
    )
    def test_refusals_in_kafkas_words(self, new: NewPartitions, name: str, message: str) -> None:
        cluster = Cluster()
        cluster.start(1, 2)
        cluster.controller.create_topics([NewTopic("orders", 2, 1)])
        (result,) = cluster.controller.create_partitions([new])
        assert result.error is not None
        assert (result.error.name, result.error.message) == (name, message)

    def test_an_unknown_topic(self, cluster: Cluster) -> None:
        (result,) = cluster.controller.create_partitions([NewPartitions("nope", 4)])
        assert isinstance(result.error, errors.UnknownTopicOrPartitionError)

    def test_validation_alone_changes_nothing(self, cluster: Cluster) -> None:
        cluster.controller.create_topics([NewTopic("orders", 2, 1)])
        before = cluster.store.image
        (result,) = cluster.controller.create_partitions([NewPartitions("orders", 4)], validate_only=True)
        assert result.error is None
        assert cluster.store.image is before


class TestLeadership:
    def test_a_restart_raises_the_leader_epoch_of_what_the_broker_leads(self, cluster: Cluster) -> None:
        cluster.controller.create_topics([NewTopic("orders", 2, 1)])
        assert cluster.state("orders").leader_epoch == 0
        epoch = cluster.controller.epoch
        for restart in (1, 2):
            cluster.start(1)
            for partition in (0, 1):
                state = cluster.state("orders", partition)
                assert (state.leader, state.isr) == (1, (1,))
                assert (state.leader_epoch, state.partition_epoch) == (restart, restart)
        assert cluster.controller.epoch == epoch + 2

    def test_a_broker_that_stops_hands_over(self) -> None:
        cluster = Cluster()
        cluster.start(1, 2)
        cluster.controller.create_topics(
            [NewTopic("both", assignments=[(0, [1, 2])]), NewTopic("alone", assignments=[(0, [1])])]
        )
        cluster.controller.unregister_broker(1, cluster.registrations[0].broker_epoch)
        assert sorted(cluster.store.image.brokers) == [2]
        assert cluster.state("both") == PartitionState("both", 0, (1, 2), (2,), 2, 1, 1)
        assert cluster.state("alone") == PartitionState("alone", 0, (1,), (1,), 1)

    def test_a_broker_that_comes_back_does_not_take_leadership_away(self) -> None:
        cluster = Cluster()
        cluster.start(1, 2)
        cluster.controller.create_topics([NewTopic("both", assignments=[(0, [1, 2])])])
        cluster.controller.unregister_broker(1, cluster.registrations[0].broker_epoch)
        handed_over = cluster.state("both")
        cluster.controller.register_broker(BrokerRegistration(1))
        assert cluster.state("both") == handed_over

    def test_no_replica_out_of_sync_leads_unless_the_topic_allows_it(self) -> None:
        cluster = Cluster()
        cluster.start(1, 2)
        unclean = {"unclean.leader.election.enable": "true"}
        cluster.controller.create_topics(
            [
                NewTopic("clean", assignments=[(0, [1, 2])]),
                NewTopic("unclean", assignments=[(0, [1, 2])], configs=unclean),
            ]
        )
        for topic in ("clean", "unclean"):
            cluster.controller.alter_partition(1, topic, 0, leader_epoch=0, partition_epoch=0, isr=[1])
        cluster.start(2)
        assert (cluster.state("clean").leader, cluster.state("clean").isr) == (NO_LEADER, (1,))
        assert (cluster.state("unclean").leader, cluster.state("unclean").isr) == (2, (2,))

    def test_a_failed_directory_gives_leadership_away(self) -> None:
        cluster = Cluster()
        cluster.start(1, 2)
        cluster.controller.create_topics(
            [NewTopic("both", assignments=[(0, [1, 2])]), NewTopic("alone", assignments=[(0, [1])])]
        )
        cluster.controller.fail_partitions(1, [("both", 0), ("alone", 0), ("nope", 3)])
        assert cluster.state("both").leader == 2
        assert (cluster.state("alone").leader, cluster.state("alone").leader_epoch) == (NO_LEADER, 1)
        cluster.start(1, 2)
        assert cluster.state("alone").leader == 1

    def test_a_leader_changes_its_isr(self) -> None:
        cluster = Cluster()
        cluster.start(1, 2)
        cluster.controller.create_topics([NewTopic("both", assignments=[(0, [1, 2])])])
        state = cluster.controller.alter_partition(1, "both", 0, leader_epoch=0, partition_epoch=0, isr=[1])
        assert state == cluster.state("both") == PartitionState("both", 0, (1, 2), (1,), 1, 0, 1)

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"topic": "nope"}, "UNKNOWN_TOPIC_OR_PARTITION"),
            ({"leader_epoch": 0}, "FENCED_LEADER_EPOCH"),
            ({"leader_epoch": 2}, "NOT_CONTROLLER"),
            ({"partition_epoch": 0}, "INVALID_UPDATE_VERSION"),
            ({"broker_id": 2}, "INVALID_REQUEST"),
            ({"isr": [2]}, "INVALID_REQUEST"),
            ({"isr": [1, 3]}, "INVALID_REQUEST"),
            ({"isr": [1, 2]}, "INELIGIBLE_REPLICA"),
        ],
    )
    def test_isr_changes_that_are_refused(self, changes: dict[str, object], error: str) -> None:
        cluster = Cluster()
        cluster.start(1, 2)
        cluster.controller.create_topics([NewTopic("both", assignments=[(0, [1, 2])])])
        cluster.start(1)
        asked = {"broker_id": 1, "topic": "both", "leader_epoch": 1, "partition_epoch": 1, "isr": [1], **changes}
        broker_id, topic = asked.pop("broker_id"), asked.pop("topic")
        with pytest.raises(errors.KafkaError) as caught:
            cluster.controller.alter_partition(broker_id, topic, 0, **asked)  # type: ignore[arg-type]
        assert caught.value.name == error


def test_overrides_are_replaced_after_they_are_checked(cluster: Cluster) -> None:
    cluster.controller.create_topics([NewTopic("orders", configs={"retention.ms": "5"})])
    change = cluster.controller.change_configs
    change(TOPIC_RESOURCE, "orders", lambda _: {"segment.bytes": "1048576"})
    assert cluster.store.image.topic_configs("orders") == {"segment.bytes": "1048576"}
    change(TOPIC_RESOURCE, "orders", lambda current: {**current, "retention.ms": "9"}, validate_only=True)
    assert cluster.store.image.topic_configs("orders") == {"segment.bytes": "1048576"}
    with pytest.raises(errors.InvalidConfigError):
        change(TOPIC_RESOURCE, "orders", lambda _: {"segment.bytes": "many"})
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        change(TOPIC_RESOURCE, "nope", lambda _: {})


def test_producer_id_blocks_go_on_after_a_restart(cluster: Cluster) -> None:
    first = cluster.controller.allocate_producer_ids()
    assert first == range(1000)
    assert cluster.start(1).allocate_producer_ids() == range(1000, 2000)


def test_a_fenced_controller_fails(cluster: Cluster) -> None:
    cluster.store.claim_controller(2)
    (result,) = cluster.controller.create_topics([NewTopic("orders")])
    assert isinstance(result.error, errors.StaleControllerEpochError)
    assert cluster.store.image.topics == {}


class TestTransactions:
    """A request is one transaction: one copy of the image and one sync, however many topics it names."""

    def committed(self, cluster: Cluster) -> list[Transaction]:
        transactions: list[Transaction] = []
        cluster.metadata.before_commit = transactions.append
        return transactions

    def test_topics_are_created_and_deleted_by_one_transaction_each(self, cluster: Cluster) -> None:
        transactions = self.committed(cluster)
        names = [f"topic-{number}" for number in range(20)]
        results = cluster.controller.create_topics([*map(NewTopic, names), NewTopic("not/legal")])
        assert [result.error is None for result in results] == [True] * 20 + [False]
        results = cluster.controller.delete_topics([*names, "absent", names[0]])
        assert [result.error is None for result in results] == [True] * 20 + [False] * 2
        assert [(len(each.delta.topics_created), len(each.delta.topics_deleted)) for each in transactions] == [
            (20, 0),
            (0, 20),
        ]
        assert cluster.store.image.topics == {}

    def test_a_commit_that_fails_is_answered_for_each_topic_of_it(self, cluster: Cluster) -> None:
        cluster.controller.create_topics([NewTopic("a"), NewTopic("b")])
        before = cluster.store.image

        def fail(_: Transaction) -> None:
            raise errors.KafkaStorageError()

        cluster.metadata.before_commit = fail
        created = cluster.controller.create_topics([NewTopic("c"), NewTopic("a"), NewTopic("d")])
        deleted = cluster.controller.delete_topics(["a", "absent", "b"])
        assert [result.error.name for result in (*created, *deleted) if result.error is not None] == [
            "KAFKA_STORAGE_ERROR",
            "TOPIC_ALREADY_EXISTS",
            "KAFKA_STORAGE_ERROR",
            "KAFKA_STORAGE_ERROR",
            "UNKNOWN_TOPIC_OR_PARTITION",
            "KAFKA_STORAGE_ERROR",
        ]
        assert cluster.store.image is before

    def test_a_topic_beyond_the_quota_is_left_out(self, cluster: Cluster) -> None:
        def apply(partitions: int) -> None:
            if partitions > 2:
                raise errors.ThrottlingQuotaExceededError()

        asked = [NewTopic("small", 2, 1), NewTopic("large", 3, 1), NewTopic("tiny", 1, 1)]
        results = cluster.controller.create_topics(asked, apply_quota=apply)
        assert [result.error is None for result in results] == [True, False, True]
        assert sorted(cluster.store.image.topics) == ["small", "tiny"]


def test_a_host_is_looked_up_without_the_lock(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that does not answer must not hold up every other change."""
    free: list[bool] = []

    def look() -> None:
        is_free = cluster.controller._lock.acquire(blocking=False)
        free.append(is_free)
        if is_free:
            cluster.controller._lock.release()

    def resolves(name: str) -> bool:
        thread = Thread(target=look)
        thread.start()
        thread.join()
        return name == "10.0.0.1"

    monkeypatch.setattr(quota_plan, "resolves", resolves)
    rate = [("connection_creation_rate", 5.0)]
    alterations = [quota_plan.QuotaAlteration([("ip", name)], rate) for name in ("10.0.0.1", "nowhere")]
    assert [error is None for error in cluster.controller.alter_client_quotas(alterations).values()] == [True, False]
    assert free == [True, True]
