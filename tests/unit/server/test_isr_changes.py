"""IsrShrinks and IsrExpands from successive images of the metadata."""

from __future__ import annotations

from kcore.metadata.cache import MetadataCache
from kcore.metadata.image import MetadataDelta, MetadataImage, PartitionState, TopicImage
from kcore.server.isr_changes import IsrChanges

BROKER = 1


def state(partition: int, *isr: int, leader: int = BROKER) -> PartitionState:
    return PartitionState("t", partition, (1, 2, 3), isr, leader)


class Cluster:
    """A metadata cache whose partitions change, and who counts."""

    def __init__(self, *states: PartitionState) -> None:
        topic = TopicImage("t", bytes(16), states)
        delta = MetadataDelta(topics_created=[topic])
        self.image = MetadataImage().apply(delta)
        self.cache = MetadataCache(self.image)
        self.changes = IsrChanges(BROKER)
        self.cache.subscribe(self.changes.publish)

    def change(self, *states: PartitionState) -> tuple[int, int]:
        delta = MetadataDelta(partitions_changed=states)
        self.image = self.image.apply(delta)
        self.cache.publish(self.image, delta)
        return self.changes.shrinks, self.changes.expands


def test_what_is_there_at_first_is_no_change() -> None:
    cluster = Cluster(state(0, 1, 2), state(1, 1))
    assert (cluster.changes.shrinks, cluster.changes.expands) == (0, 0)


def test_shrinks_and_expands() -> None:
    cluster = Cluster(state(0, 1, 2, 3), state(1, 1))
    assert cluster.change(state(0, 1, 2), state(1, 1, 2)) == (1, 1)
    assert cluster.change(state(0, 1, 2, 3)) == (1, 2)
    assert cluster.change(state(0, 1)) == (2, 2)


def test_a_change_of_leader_alone_does_not_count() -> None:
    assert Cluster(state(0, 1, 2)).change(state(0, 1, 2, leader=2)) == (0, 0)


def test_partitions_that_others_lead_do_not_count() -> None:
    assert Cluster(state(0, 1, 2, 3, leader=2)).change(state(0, 2, leader=2)) == (0, 0)
