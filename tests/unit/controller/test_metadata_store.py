"""The metadata stores: transactions, fencing, what is told, what survives. Every rule holds for each of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcore import errors
from kcore.controller.checksummed_tables import ChecksummedTables
from kcore.controller.embedded_store import EmbeddedMetadataStore
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.controller.metadata_store import PRODUCER_ID_BLOCK_SIZE, MetadataStore, MetadataStoreError
from kcore.metadata.cache import MetadataCache
from kcore.metadata.image import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    BrokerRegistration,
    Endpoint,
    MetadataDelta,
    MetadataImage,
    PartitionState,
    TopicImage,
)
from kcore.metadata.quota_entity import QuotaEntity

Reopen = Callable[[], MetadataStore]


def topic(name: str, number: int, partitions: int = 2) -> TopicImage:
    topic_id = number.to_bytes(16, "big")
    return TopicImage(name, topic_id, (PartitionState(name, index, (1, 2), (1, 2), 1) for index in range(partitions)))


ORDERS = topic("orders", 7)


@pytest.fixture(params=["embedded", "memory"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the store, after closing the one opened before."""
    opened: list[MetadataStore] = []
    metadata = MemoryMetadata()

    def open_again() -> MetadataStore:
        if opened:
            opened[-1].close()
        embedded = request.param == "embedded"
        store = EmbeddedMetadataStore(str(tmp_path / "m.sqlite")) if embedded else MemoryMetadataStore(metadata)
        store.open()
        opened.append(store)
        return store

    yield open_again
    if opened:
        opened[-1].close()


def test_everything_survives_but_registrations(reopen: Reopen) -> None:
    store = reopen()
    epoch = store.claim_controller(1)
    registered = store.register_broker(BrokerRegistration(1, [Endpoint("PLAINTEXT", "::1", 9092)], "rack"))
    store.create_topic(epoch, ORDERS, {"retention.ms": "5", "cleanup.policy": "compact"})
    store.create_topic(epoch, topic("gone", 8), {"retention.ms": "6"})
    store.set_configs(epoch, BROKER_RESOURCE, "", {"log.cleaner.threads": "2"})
    store.update_partition_states(
        epoch, [ORDERS.partitions[1].replace(isr=(2,), leader=2, leader_epoch=3, partition_epoch=1)]
    )
    store.add_partitions(epoch, [PartitionState("orders", 2, (2,), (), -1)])
    store.delete_topic(epoch, topic("gone", 8).topic_id)
    before = store.image

    again = reopen()
    assert again.image == before.replace(brokers={}, controller_id=-1)
    assert again.deleted_topic_ids() == {topic("gone", 8).topic_id}
    assert again.claim_controller(1) == epoch + 1
    assert again.register_broker(registered).broker_epoch > registered.broker_epoch


def test_the_cluster_id_is_made_once(reopen: Reopen) -> None:
    first = reopen().image.cluster_id
    assert len(first) == 22
    assert reopen().image.cluster_id == first


def test_producer_ids_never_repeat(reopen: Reopen) -> None:
    store = reopen()
    epoch = store.claim_controller(1)
    blocks = [store.allocate_producer_ids(epoch), store.allocate_producer_ids(epoch)]
    store = reopen()
    blocks.append(store.allocate_producer_ids(store.claim_controller(1)))
    assert [len(block) for block in blocks] == [PRODUCER_ID_BLOCK_SIZE] * 3
    assert len(set().union(*blocks)) == 3 * PRODUCER_ID_BLOCK_SIZE


CHANGES: list[Callable[[MetadataStore, int], object]] = [
    lambda store, epoch: store.create_topic(epoch, topic("new", 9), {}),
    lambda store, epoch: store.delete_topic(epoch, ORDERS.topic_id),
    lambda store, epoch: store.add_partitions(epoch, [PartitionState("orders", 2, (1,), (1,), 1)]),
    lambda store, epoch: store.update_partition_states(epoch, [ORDERS.partitions[0].replace(partition_epoch=1)]),
    lambda store, epoch: store.set_configs(epoch, TOPIC_RESOURCE, "orders", {"retention.ms": "1"}),
    lambda store, epoch: store.allocate_producer_ids(epoch),
    lambda store, epoch: store.forget_deleted_topics(epoch, [bytes(16)]),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_controller_that_lost_its_office_changes_nothing(
    reopen: Reopen, change: Callable[[MetadataStore, int], object]
) -> None:
    store = reopen()
    old = store.claim_controller(1)
    store.create_topic(old, ORDERS, {})
    new = store.claim_controller(2)
    before = store.image
    with pytest.raises(errors.StaleControllerEpochError):
        change(store, old)
    assert store.image == before
    assert reopen().image.topics == before.topics
    store = reopen()
    change(store, store.claim_controller(new))


def test_a_name_or_id_is_taken_once(reopen: Reopen) -> None:
    store = reopen()
    epoch = store.claim_controller(1)
    store.create_topic(epoch, ORDERS, {})
    for second in (topic("orders", 8), topic("payments", 7)):
        with pytest.raises(errors.TopicAlreadyExistsError):
            store.create_topic(epoch, second, {})
    assert list(store.image.topics) == ["orders"]


def test_a_topic_created_anew_is_another_topic(reopen: Reopen) -> None:
    store = reopen()
    epoch = store.claim_controller(1)
    store.create_topic(epoch, ORDERS, {"retention.ms": "1"})
    store.delete_topic(epoch, ORDERS.topic_id)
    store.create_topic(epoch, topic("orders", 8, partitions=1), {})
    store = reopen()
    assert store.image.topics["orders"] == topic("orders", 8, partitions=1)
    assert store.image.topic_configs("orders") == {}
    with pytest.raises(errors.UnknownTopicIdError):
        store.delete_topic(store.claim_controller(1), ORDERS.topic_id)


def test_an_update_has_to_follow_the_stored_partition_epoch(reopen: Reopen) -> None:
    store = reopen()
    epoch = store.claim_controller(1)
    store.create_topic(epoch, ORDERS, {})
    good = ORDERS.partitions[0].replace(leader=2, partition_epoch=1)
    for wrong in (0, 2):
        stale = ORDERS.partitions[1].replace(partition_epoch=wrong)
        with pytest.raises(errors.InvalidUpdateVersionError):
            store.update_partition_states(epoch, [good, stale])
    assert store.image.topics["orders"] == ORDERS, "all or none"
    store.update_partition_states(epoch, [good])
    assert reopen().image.partition("orders", 0) == good


def test_unknown_partitions_and_gaps_are_refused(reopen: Reopen) -> None:
    store = reopen()
    epoch = store.claim_controller(1)
    store.create_topic(epoch, ORDERS, {})
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        store.update_partition_states(epoch, [PartitionState("orders", 2, (1,), (1,), 1, 0, 1)])
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        store.add_partitions(epoch, [PartitionState("payments", 0, (1,), (1,), 1)])
    with pytest.raises(errors.InvalidPartitionsError):
        store.add_partitions(epoch, [PartitionState("orders", 3, (1,), (1,), 1)])


def test_a_registration_ends_with_its_own_epoch_only(reopen: Reopen) -> None:
    store = reopen()
    first = store.register_broker(BrokerRegistration(1))
    second = store.register_broker(BrokerRegistration(1))
    with pytest.raises(errors.StaleBrokerEpochError):
        store.unregister_broker(1, first.broker_epoch)
    assert store.image.brokers == {1: second}
    store.unregister_broker(1, second.broker_epoch)
    assert store.image.brokers == {}


def test_listeners_hear_of_commits_in_order_and_of_nothing_else(reopen: Reopen) -> None:
    store = reopen()
    cache = MetadataCache()
    store.subscribe(cache.publish)
    heard: list[MetadataDelta] = []
    store.subscribe(lambda image, delta: heard.append(delta))
    epoch = store.claim_controller(1)
    store.create_topic(epoch, ORDERS, {})
    with pytest.raises(errors.TopicAlreadyExistsError):
        store.create_topic(epoch, ORDERS, {})
    store.allocate_producer_ids(epoch)
    assert heard[1:] == [MetadataDelta(controller_id=1), MetadataDelta(topics_created=[ORDERS])]
    assert cache.image == store.image


def test_a_change_made_by_a_listener_is_told_after_the_one_it_heard_of(reopen: Reopen) -> None:
    store = reopen()
    epoch = store.claim_controller(1)

    def delete_at_once(image: MetadataImage, delta: MetadataDelta) -> None:
        for created in delta.topics_created:
            store.delete_topic(epoch, created.topic_id)

    cache = MetadataCache()
    told: list[tuple[int, int]] = []
    store.subscribe(delete_at_once)
    store.subscribe(cache.publish)
    store.subscribe(lambda image, delta: told.append((len(delta.topics_created), len(delta.topics_deleted))))
    store.create_topic(epoch, ORDERS, {})
    assert told[1:] == [(1, 0), (0, 1)]
    assert cache.image.topics == store.image.topics == {}


def test_what_a_listener_raises_reaches_the_caller_and_the_change_stays(reopen: Reopen) -> None:
    store = reopen()
    epoch = store.claim_controller(1)

    def fail(image: MetadataImage, delta: MetadataDelta) -> None:
        if delta.topics_created:
            raise OSError("no room for the log")

    heard: list[MetadataDelta] = []
    store.subscribe(fail)
    store.subscribe(lambda image, delta: heard.append(delta))
    with pytest.raises(OSError, match="no room"):
        store.create_topic(epoch, ORDERS, {})
    assert heard[-1].topics_created == (ORDERS,)
    store.delete_topic(epoch, ORDERS.topic_id)
    assert heard[-1].topics_deleted == (ORDERS,)


def test_deleted_topics_are_remembered_until_they_are_forgotten(reopen: Reopen) -> None:
    store = reopen()
    epoch = store.claim_controller(1)
    store.create_topic(epoch, ORDERS, {})
    store.delete_topic(epoch, ORDERS.topic_id)
    store = reopen()
    assert store.deleted_topic_ids() == {ORDERS.topic_id}
    store.forget_deleted_topics(store.claim_controller(1), [ORDERS.topic_id])
    assert reopen().deleted_topic_ids() == frozenset()


def test_a_closed_store_answers_nothing(reopen: Reopen) -> None:
    store = reopen()
    store.close()
    store.close()
    with pytest.raises(MetadataStoreError, match="is not open"):
        store.claim_controller(1)


def test_an_uncommitted_transaction_is_lost_with_the_process() -> None:
    def crash(transaction: object) -> None:
        raise KeyboardInterrupt

    metadata = MemoryMetadata()
    store = MemoryMetadataStore(metadata)
    store.open("cluster")
    epoch = store.claim_controller(1)
    metadata.before_commit = crash
    with pytest.raises(KeyboardInterrupt):
        store.create_topic(epoch, ORDERS, {})
    metadata.before_commit = None
    after = MemoryMetadataStore(metadata)
    after.open("cluster")
    assert after.image.topics == {}


class TestEmbeddedFile:
    """What only a file can have."""

    def test_another_clusters_store_is_refused(self, tmp_path: Path) -> None:
        path = str(tmp_path / "m.sqlite")
        store = EmbeddedMetadataStore(path)
        assert store.open("first") == "first"
        store.close()
        with pytest.raises(
            MetadataStoreError, match=r"m\.sqlite holds the metadata of cluster first.*names cluster second"
        ):
            EmbeddedMetadataStore(path).open("second")

    def test_two_processes_cannot_share_it(self, tmp_path: Path) -> None:
        path = str(tmp_path / "m.sqlite")
        first = EmbeddedMetadataStore(path)
        first.open()
        with pytest.raises(MetadataStoreError, match="in use by another process"):
            EmbeddedMetadataStore(path).open()
        first.close()
        second = EmbeddedMetadataStore(path)
        second.open()
        second.close()

    @pytest.mark.parametrize(
        "content", [b"not a database, but long enough for a header " * 40, b"SQLite format 3\0" + bytes(4080)]
    )
    def test_a_damaged_file_is_named_and_kept(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "m.sqlite"
        path.write_bytes(content)
        with pytest.raises(MetadataStoreError, match=r"m\.sqlite is damaged .*Restore the file from a backup"):
            EmbeddedMetadataStore(str(path)).open()
        assert path.read_bytes() == content

    def test_a_full_disk_at_the_first_start(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = str(tmp_path / "m.sqlite")

        def fail(*arguments: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(ChecksummedTables, "create", fail)
            with pytest.raises(MetadataStoreError) as caught:
                EmbeddedMetadataStore(path).open()
        assert str(caught.value) == (
            f"cannot create the metadata store {path}: no space left on device. "
            "Free space, or set metadata.log.dir, and start the broker again"
        )
        store = EmbeddedMetadataStore(path)
        store.open()
        store.close()

    def test_a_damaged_page_is_found(self, tmp_path: Path) -> None:
        path = tmp_path / "m.sqlite"
        store = EmbeddedMetadataStore(str(path))
        store.open()
        store.create_topic(store.claim_controller(1), ORDERS, {})
        store.close()
        content = bytearray(path.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
        path.write_bytes(content)
        with pytest.raises(MetadataStoreError, match="is damaged"):
            EmbeddedMetadataStore(str(path)).open()

    def test_a_newer_format_is_refused(self, tmp_path: Path) -> None:
        path = str(tmp_path / "m.sqlite")
        store = EmbeddedMetadataStore(path)
        store.open()
        store.close()
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 3")
            connection.execute("UPDATE checksum SET value = ? WHERE name = 'format_version'", ((3).to_bytes(8, "big"),))
        connection.close()
        with pytest.raises(
            MetadataStoreError, match="has format version 3, but this release supports versions up to 2"
        ):
            EmbeddedMetadataStore(path).open()

    def test_a_file_of_another_program_is_refused(self, tmp_path: Path) -> None:
        path = str(tmp_path / "m.sqlite")
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE theirs (x)")
        connection.close()
        with pytest.raises(MetadataStoreError, match="another program"):
            EmbeddedMetadataStore(path).open()

    def test_a_missing_directory_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(MetadataStoreError, match="cannot be opened for writing"):
            EmbeddedMetadataStore(str(tmp_path / "missing" / "m.sqlite")).open()

    def test_a_clean_close_leaves_one_file(self, tmp_path: Path) -> None:
        store = EmbeddedMetadataStore(str(tmp_path / "m.sqlite"))
        store.open()
        store.claim_controller(1)
        store.close()
        assert [path.name for path in tmp_path.iterdir()] == ["m.sqlite"]


def go_back_to_first_format(connection: sqlite3.Connection) -> None:
    connection.execute("DROP TABLE checksum")
    connection.execute("PRAGMA user_version = 1")


def test_a_store_of_an_older_release_takes_features(tmp_path: Path) -> None:
    path = str(tmp_path / "m.sqlite")
    store = EmbeddedMetadataStore(path)
    store.open("cluster")
    store.close()
    with sqlite3.connect(path) as connection:
        go_back_to_first_format(connection)
        connection.execute("DROP TABLE feature")
        connection.execute("DELETE FROM counter WHERE name = 'features_epoch'")
    connection.close()
    for level, epoch in ((0, 0), (2, 1), (1, 2)):
        store = EmbeddedMetadataStore(path)
        store.open()
        assert (store.image.features.get("transaction.version", 0), store.image.features_epoch) == (level, epoch)
        store.set_features(store.claim_controller(1), {"transaction.version": 2 - epoch})
        store.close()


def test_a_store_of_an_older_release_takes_quotas(tmp_path: Path) -> None:
    path = str(tmp_path / "m.sqlite")
    store = EmbeddedMetadataStore(path)
    store.open("cluster")
    store.close()
    with sqlite3.connect(path) as connection:
        go_back_to_first_format(connection)
        connection.execute("DROP TABLE client_quota")
    connection.close()
    entity = QuotaEntity({"user": "ann", "client-id": None})
    for quotas in ({}, {"producer_byte_rate": 1.5}):
        store = EmbeddedMetadataStore(path)
        store.open()
        assert store.image.client_quotas.get(entity, {}) == quotas
        store.set_client_quotas(store.claim_controller(1), entity, {"producer_byte_rate": 1.5})
        store.close()
