"""Partition reassignments that complete at once (`ReplicationControlManager.changePartitionReassignment`).

Pure. A change that only removes or reorders replicas completes at once if an in-sync replica remains. A change that
adds replicas would have to wait until they have caught up. Replicas are not copied between brokers yet, so it is
refused.
"""

from __future__ import annotations

from kcore import errors
from kcore.controller.replica_assignment import check_replicas
from kcore.metadata.image import NO_LEADER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kcore.metadata.image import PartitionState


def reassign(state: PartitionState, target: Sequence[int], alive: Collection[int]) -> PartitionState | None:
    """The state with the replicas of `target`, or None if nothing changes. Raises UnsupportedVersionError."""
    check_replicas(target, alive)
    if tuple(target) == state.replicas:
        return None
    kept = tuple(replica for replica in state.isr if replica in target)
    added = sorted(set(target) - set(state.replicas))
    if added or not kept:
        raise errors.UnsupportedVersionError(
            f"Partition {state.topic}-{state.partition} cannot be moved to brokers {list(target)}: no replica can be "
            f"added to {list(state.replicas)}, and one in-sync replica of {list(state.isr)} must remain."
        )
    leader = state.leader
    if leader not in kept:
        leader = next((replica for replica in target if replica in kept and replica in alive), NO_LEADER)
    return state.replace(
        replicas=tuple(target),
        isr=kept,
        leader=leader,
        leader_epoch=state.leader_epoch + (leader != state.leader),
        partition_epoch=state.partition_epoch + 1,
    )
