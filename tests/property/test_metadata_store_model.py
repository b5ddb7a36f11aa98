"""The metadata stores against a model: whatever is done to them, in any order, with restarts in between."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kcore import errors
from kcore.controller.embedded_store import EmbeddedMetadataStore
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.controller.metadata_store import MetadataStore
from kcore.metadata.cache import MetadataCache
from kcore.metadata.image import TOPIC_RESOURCE, MetadataDelta, MetadataImage, PartitionState, TopicImage
from kcore.metadata.quota_entity import QuotaEntity

NAMES = st.sampled_from(["a", "b", "a.b", "Ümlaut", "x" * 249])
BROKERS = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=3, unique=True)
OVERRIDES = st.dictionaries(st.sampled_from(["retention.ms", "cleanup.policy"]), st.text(max_size=5), max_size=2)
ENTITIES = st.dictionaries(
    st.sampled_from(["user", "client-id", "ip"]), st.none() | st.text(min_size=1, max_size=3), min_size=1
).map(QuotaEntity)
QUOTAS = st.dictionaries(
    st.sampled_from(["producer_byte_rate", "request_percentage"]), st.floats(0, 1e15, allow_nan=False), max_size=2
)
EPOCHS = st.integers(0, 2**31 - 1)


class StoreAgainstModel(RuleBasedStateMachine):
    """The model: partition states by topic, overrides, ids. Subclasses say how a store is made."""

    open_store: Callable[[], MetadataStore]

    @initialize()
    def start(self) -> None:
        self.topics: dict[str, tuple[bytes, list[PartitionState]]] = {}
        self.overrides: dict[str, dict[str, str]] = {}
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.features: dict[str, int] = {}
        self.deleted: set[bytes] = set()
        self.next_id = 1
        self.next_producer_id = 0
        self.store = self.open_store()
        self.store.open("cluster")
        self.take_office()

    def take_office(self) -> None:
        self.epoch = self.store.claim_controller(1)
        # Fed by deltas alone, never by the store's own image.
        self.told = MetadataImage()
        self.cache = MetadataCache()
        self.store.subscribe(self.follow)
        self.store.subscribe(self.cache.publish)

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self.told = self.told.apply(delta)

    def teardown(self) -> None:
        self.store.close()

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = self.open_store()
        assert self.store.open("cluster") == "cluster"
        self.take_office()

    @rule(name=NAMES, replicas=st.lists(BROKERS, min_size=1, max_size=4), overrides=OVERRIDES)
    def create(self, name: str, replicas: list[list[int]], overrides: dict[str, str]) -> None:
        topic_id = self.next_id.to_bytes(16, "big")
        states = [PartitionState(name, index, ids, ids, ids[0]) for index, ids in enumerate(replicas)]
        topic = TopicImage(name, topic_id, states)
        if name in self.topics:
            with pytest.raises(errors.TopicAlreadyExistsError):
                self.store.create_topic(self.epoch, topic, overrides)
            return
        self.store.create_topic(self.epoch, topic, overrides)
        self.next_id += 1
        self.topics[name] = (topic_id, states)
        if overrides:
            self.overrides[name] = overrides

    @precondition(lambda self: self.topics)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.topics)))
        topic_id, _ = self.topics.pop(name)
        self.overrides.pop(name, None)
        self.deleted.add(topic_id)
        self.store.delete_topic(self.epoch, topic_id)

    @precondition(lambda self: self.topics)
    @rule(data=st.data(), isr=st.lists(st.integers(0, 9), max_size=3), leader=st.integers(-1, 9), leader_epoch=EPOCHS)
    def update(self, data: st.DataObject, isr: list[int], leader: int, leader_epoch: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.topics)))
        _, states = self.topics[name]
        chosen = data.draw(st.sets(st.integers(0, len(states) - 1), min_size=1))
        changed = [
            states[index].replace(
                isr=tuple(isr),
                leader=leader,
                leader_epoch=leader_epoch,
                partition_epoch=states[index].partition_epoch + 1,
            )
            for index in sorted(chosen)
        ]
        self.store.update_partition_states(self.epoch, changed)
        for state in changed:
            states[state.partition] = state

    @precondition(lambda self: self.topics)
    @rule(data=st.data())
    def update_out_of_step(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.topics)))
        _, states = self.topics[name]
        good = states[0].replace(leader=77, partition_epoch=states[0].partition_epoch + 1)
        bad = states[-1].replace(partition_epoch=states[-1].partition_epoch + 2)
        with pytest.raises(errors.InvalidUpdateVersionError):
            self.store.update_partition_states(self.epoch, [good, bad])

    @precondition(lambda self: self.topics)
    @rule(data=st.data(), replicas=st.lists(BROKERS, min_size=1, max_size=2))
    def add_partitions(self, data: st.DataObject, replicas: list[list[int]]) -> None:
        name = data.draw(st.sampled_from(sorted(self.topics)))
        _, states = self.topics[name]
        added = [PartitionState(name, index, ids, ids, ids[0]) for index, ids in enumerate(replicas, len(states))]
        self.store.add_partitions(self.epoch, added)
        states.extend(added)

    @precondition(lambda self: self.topics)
    @rule(data=st.data(), overrides=OVERRIDES)
    def set_overrides(self, data: st.DataObject, overrides: dict[str, str]) -> None:
        name = data.draw(st.sampled_from(sorted(self.topics)))
        self.store.set_configs(self.epoch, TOPIC_RESOURCE, name, overrides)
        self.overrides.pop(name, None)
        if overrides:
            self.overrides[name] = overrides

    @rule(entity=ENTITIES, quotas=QUOTAS)
    def set_quotas(self, entity: QuotaEntity, quotas: dict[str, float]) -> None:
        self.store.set_client_quotas(self.epoch, entity, quotas)
        self.quotas.pop(entity, None)
        if quotas:
            self.quotas[entity] = quotas

    @rule(name=st.sampled_from(["group.version", "transaction.version"]), level=st.integers(0, 2))
    def set_feature(self, name: str, level: int) -> None:
        before = self.store.image.features_epoch
        self.store.set_features(self.epoch, {name: level})
        assert self.store.image.features_epoch == before + 1
        self.features.pop(name, None)
        if level:
            self.features[name] = level

    @rule()
    def allocate(self) -> None:
        block = self.store.allocate_producer_ids(self.epoch)
        assert block[0] == self.next_producer_id
        self.next_producer_id = block[-1] + 1

    @rule()
    def fenced(self) -> None:
        with pytest.raises(errors.StaleControllerEpochError):
            self.store.allocate_producer_ids(self.epoch - 1)

    @precondition(lambda self: self.deleted)
    @rule()
    def forget(self) -> None:
        self.store.forget_deleted_topics(self.epoch, self.deleted)
        self.deleted.clear()

    @invariant()
    def store_is_the_model(self) -> None:
        if not hasattr(self, "store"):
            return
        image = self.store.image
        assert {name: (topic.topic_id, list(topic.partitions)) for name, topic in image.topics.items()} == self.topics
        assert {name: dict(overrides) for (_, name), overrides in image.configs.items()} == self.overrides
        assert image.client_quotas == self.quotas
        assert image.features == self.features
        assert self.store.deleted_topic_ids() == self.deleted

    @invariant()
    def listeners_know_the_same(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.cache.image == self.store.image == self.told.replace(cluster_id="cluster")
        assert self.told.topics_by_id == {topic.topic_id: topic for topic in self.told.topics.values()}


class EmbeddedAgainstModel(StoreAgainstModel):
    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="kcli-store-"))
        self.open_store = lambda: EmbeddedMetadataStore(str(self.directory / "m.sqlite"))

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.directory)


class MemoryAgainstModel(StoreAgainstModel):
    def __init__(self) -> None:
        super().__init__()
        metadata = MemoryMetadata()
        self.open_store = lambda: MemoryMetadataStore(metadata)


SIZE = settings(
    max_examples=30, stateful_step_count=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
TestEmbeddedAgainstModel = EmbeddedAgainstModel.TestCase
TestEmbeddedAgainstModel.settings = SIZE
TestMemoryAgainstModel = MemoryAgainstModel.TestCase
TestMemoryAgainstModel.settings = SIZE
