"""Leader election: pure functions from a partition's state and the live brokers to the partition's next state.

As in Kafka's `PartitionLeaderElectionAlgorithms`, the first replica of the assignment that is alive and in sync becomes
leader, and the ISR keeps its live members. If there is none, the partition has no leader and its ISR stays, since only
its members have every committed record. With unclean election, the first live replica becomes the leader and the only
member of the ISR, and records may be lost. Every election increments the leader epoch, even if the old leader wins, so
that records from before and after it differ in their epoch.
"""

from __future__ import annotations

from kcore import errors
from kcore.metadata.image import NO_LEADER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from kcore.metadata.image import PartitionState


ELECTION_NOT_NEEDED = "Leader election not needed for topic partition."


def elect_leader(state: PartitionState, alive: Container[int], unclean: bool = False) -> PartitionState:
    """The state after an election among the `alive` brokers."""
    leader = next((replica for replica in state.replicas if replica in alive and replica in state.isr), NO_LEADER)
    isr = tuple(replica for replica in state.isr if replica in alive)
    if leader == NO_LEADER and unclean:
        leader = next((replica for replica in state.replicas if replica in alive), NO_LEADER)
        isr = (leader,)
    if leader == NO_LEADER:
        isr = state.isr
    return state.replace(
        leader=leader, isr=isr, leader_epoch=state.leader_epoch + 1, partition_epoch=state.partition_epoch + 1
    )


def elect_preferred(state: PartitionState, alive: Container[int]) -> PartitionState:
    """The state with the preferred leader, the first replica of the assignment. Raises KafkaError if impossible."""
    preferred = state.replicas[0]
    if state.leader == preferred:
        raise errors.ElectionNotNeededError(ELECTION_NOT_NEEDED)
    # If there is no leader, no replica of the ISR is alive: one that returned would have been elected.
    if state.leader == NO_LEADER or preferred not in alive or preferred not in state.isr:
        raise errors.PreferredLeaderNotAvailableError()
    return elect_leader(state, alive)


def elect_unclean(state: PartitionState, alive: Container[int]) -> PartitionState:
    """The state with a leader that may lack committed records. Only for a partition without a leader."""
    if state.leader != NO_LEADER:
        raise errors.ElectionNotNeededError(ELECTION_NOT_NEEDED)
    candidates = [replica for replica in state.replicas if replica in alive and replica not in state.isr]
    if not candidates:
        raise errors.EligibleLeadersNotAvailableError()
    return elect_leader(state, candidates, unclean=True)


def with_isr(state: PartitionState, isr: Iterable[int]) -> PartitionState:
    """The state with another ISR and the same leader."""
    return state.replace(isr=tuple(isr), partition_epoch=state.partition_epoch + 1)
