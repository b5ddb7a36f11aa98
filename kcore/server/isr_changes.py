"""Counts ISR shrinks and expansions of the partitions that this broker leads (ReplicaManager's IsrShrinks and
IsrExpands)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.metadata.image import MetadataDelta, MetadataImage


class IsrChanges:
    """Subscribe `publish` to the metadata cache. The first image is the baseline and counts no change."""

    __slots__ = ("_before", "_broker_id", "expands", "shrinks")

    def __init__(self, broker_id: int) -> None:
        self._broker_id = broker_id
        self._before: MetadataImage | None = None
        self.shrinks = 0
        self.expands = 0

    def publish(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Compares the changed partitions with the previous image."""
        before, self._before = self._before, image
        if before is None:
            return
        for state in delta.changed_partitions():
            old = before.partition(state.topic, state.partition)
            if old is None or self._broker_id not in (old.leader, state.leader):
                continue
            self.shrinks += len(state.isr) < len(old.isr)
            self.expands += len(state.isr) > len(old.isr)
