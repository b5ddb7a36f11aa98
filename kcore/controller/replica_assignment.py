"""Replica assignment of new partitions (Kafka's `AdminUtils`, rack-unaware, and manual assignments).

The first replicas, which lead, are assigned to the brokers in turn from a random start. The other replicas follow at a
shift that grows by one with every round, so that the followers of a leader are spread over all other brokers. With five
brokers, three replicas, and start and shift 0:

    partition  0      1      2      3      4      5      6
    replicas   0 1 2  1 2 3  2 3 4  3 4 0  4 0 1  0 2 3  1 3 4
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


def assign_replicas(
    broker_ids: Iterable[int],
    partitions: int,
    replication_factor: int,
    *,
    first_partition: int = 0,
    start: int | None = None,
    shift: int | None = None,
) -> list[tuple[int, ...]]:
    """The replicas of `partitions` partitions. Start and shift are random by default."""
    brokers = sorted(broker_ids)
    if partitions <= 0:
        raise errors.InvalidPartitionsError("Number of partitions was set to an invalid non-positive value.")
    if replication_factor <= 0:
        raise errors.InvalidReplicationFactorError(
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if replication_factor > len(brokers):
        raise errors.InvalidReplicationFactorError(
            f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of "
            f"{replication_factor} cannot be reached because only {len(brokers)} broker(s) are registered."
        )
    start = random_below(len(brokers)) if start is None else start
    shift = random_below(len(brokers)) if shift is None else shift
    assignment = []
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % len(brokers) == 0:
            shift += 1
        first = (partition + start) % len(brokers)
        others = (_follower(first, shift, index, len(brokers)) for index in range(replication_factor - 1))
        assignment.append((brokers[first], *(brokers[other] for other in others)))
    return assignment


def _follower(first: int, shift: int, index: int, brokers: int) -> int:
    return (first + 1 + (shift + index) % (brokers - 1)) % brokers


def check_manual_assignment(
    assignments: Iterable[tuple[int, Sequence[int]]],
    broker_ids: Iterable[int],
    *,
    first_partition: int = 0,
    replication_factor: int | None = None,
) -> list[tuple[int, ...]]:
    """The replicas in the order of partitions. Raises InvalidReplicaAssignmentError for the first fault.

    Partition numbers must be consecutive from `first_partition`. All partitions must have `replication_factor`
    replicas, or as many as the first one if it is None.
    """
    known = frozenset(broker_ids)
    checked: dict[int, tuple[int, ...]] = {}
    for partition, replicas in assignments:
        if partition in checked:
            raise errors.InvalidReplicaAssignmentError(
                f"Found multiple manual partition assignments for partition {partition}"
            )
        check_replicas(replicas, known)
        replication_factor = len(replicas) if replication_factor is None else replication_factor
        if len(replicas) != replication_factor:
            raise errors.InvalidReplicaAssignmentError(
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is "
                f"not consistent with previous partitions, which have {replication_factor} replica(s)."
            )
        checked[partition] = tuple(replicas)
    if sorted(checked) != list(range(first_partition, first_partition + len(checked))):
        raise errors.InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")
    return [checked[partition] for partition in sorted(checked)]


def check_replicas(replicas: Sequence[int], known: Collection[int]) -> None:
    """Raises InvalidReplicaAssignmentError unless the replicas are registered brokers, each listed once."""
    if not replicas:
        raise errors.InvalidReplicaAssignmentError("The manual partition assignment includes an empty replica list.")
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in known:
            raise errors.InvalidReplicaAssignmentError(
                f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
            )
        if broker_id == previous:
            raise errors.InvalidReplicaAssignmentError(
                f"The manual partition assignment includes the broker {broker_id} more than once."
            )
        previous = broker_id


def random_below(count: int) -> int:
    """A random index. `random` is imported here, since only the creation of topics needs it."""
    from random import randrange

    return randrange(count)
