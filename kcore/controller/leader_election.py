"""Who leads a partition: pure functions from a partition's state and the brokers that are alive to its next state.

Kafka's `PartitionLeaderElectionAlgorithms`: the first replica of the assignment that is alive and in sync leads, and
the ISR keeps the members that are alive. Without one the partition has no leader and its ISR stays, since only its
members have every committed record; unless unclean election is allowed, which makes the first replica that is alive the
leader and the whole ISR, and may lose records. Every election raises the leader epoch, also one that the old leader
wins: what it wrote before it went away is told apart from what it writes now.
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
    """The state after an election."""
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
    """The state in which the first replica of the assignment leads, as balance among brokers wants it."""
    preferred = state.replicas[0]
    if state.leader == preferred:
        raise errors.ElectionNotNeededError(ELECTION_NOT_NEEDED)
    # A partition without a leader has no usable replica in its ISR: whoever came back would have been elected.
    if state.leader == NO_LEADER or preferred not in alive or preferred not in state.isr:
        raise errors.PreferredLeaderNotAvailableError()
    return elect_leader(state, alive)


def elect_unclean(state: PartitionState, alive: Container[int]) -> PartitionState:
    """The state in which a replica leads that may lack committed records: only for a partition that has no leader."""
    if state.leader != NO_LEADER:
        raise errors.ElectionNotNeededError(ELECTION_NOT_NEEDED)
    candidates = [replica for replica in state.replicas if replica in alive and replica not in state.isr]
    if not candidates:
        raise errors.EligibleLeadersNotAvailableError()
    return elect_leader(state, candidates, unclean=True)


def with_isr(state: PartitionState, isr: Iterable[int]) -> PartitionState:
    """The same leadership with other replicas in sync."""
    return state.replace(isr=tuple(isr), partition_epoch=state.partition_epoch + 1)
