"""Invariant 8, one owner for a partition in each generation of a group, and what follows from it for what is read.

A `Claim` is what an application was told, an `Assignment` what the coordinator decided. A member that died, or was
paused beyond its session, may claim for longer than the group knows it; one that goes on to the next generation may
not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tests.invariants.history import Assignment, Claim, Commit, History, Outcome, Read, TopicPartition
from tests.invariants.violation import SHOWN, InvariantViolation


def check_one_owner_per_generation(history: History) -> None:
    """8: no two members of a generation were given the same partition, and no member was given two different shares.

    Static members of one instance id are one: the later process takes the place of the earlier, which is fenced.
    """
    owners: dict[tuple[str, int, TopicPartition], Assignment] = {}
    shares: dict[tuple[str, int, str], Assignment] = {}
    for given in history.assignments:
        first = shares.setdefault((given.group, given.generation, given.member), given)
        if first.partitions != given.partitions:
            raise InvariantViolation(8, f"one generation gave {first}, and then {given}")
        for partition in given.partitions:
            owner = owners.setdefault((given.group, given.generation, partition), given)
            if identity(owner) != identity(given):
                raise InvariantViolation(8, f"{partition} has two owners: {owner}, and {given}")


def identity(given: Assignment) -> str:
    return given.member if given.instance is None else f"instance {given.instance}"


def check_generations_go_up(history: History) -> None:
    """8: a member is never told of a generation older than one that it knew."""
    newest: dict[tuple[str, str], Assignment] = {}
    for given in sorted(history.assignments, key=lambda given: given.at):
        before = newest.setdefault((given.group, given.member), given)
        if before.generation > given.generation:
            raise InvariantViolation(8, f"{given} follows on {before}")
        newest[given.group, given.member] = given


def check_partitions_are_handed_over(history: History) -> None:
    """8: who is in the generation in which a partition goes to another has let go of it before the other has it.

    Members see to that themselves, by what they tell each other: one that tells of a partition that is not its own has
    it at once, whatever the coordinator does.
    """
    members: dict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    for given in history.assignments:
        members[given.group, given.generation][given.member] = identity(given)
    by_partition: dict[tuple[str, TopicPartition], list[Claim]] = defaultdict(list)
    for claim in sorted(history.claims, key=lambda claim: claim.since):
        for before in by_partition[claim.group, claim.partition]:
            is_over = before.until is not None and before.until <= claim.since
            present = members[claim.group, claim.generation]
            is_replaced = present.get(before.member) == present.get(claim.member)
            if not (is_over or is_replaced or claim.is_mistaken) and before.member in present:
                raise InvariantViolation(8, f"{claim} began while {before} went on")
        by_partition[claim.group, claim.partition].append(claim)


def check_claims_are_assignments(history: History) -> None:
    """8: what an application was told is its own is what the coordinator gave it in that generation."""
    given = {(one.group, one.generation, one.member): one.partitions for one in history.assignments}
    for claim in history.claims:
        if claim.partition not in given.get((claim.group, claim.generation, claim.member), ()):
            raise InvariantViolation(8, f"{claim} was not given by its generation")


def check_reads_are_by_owners(history: History) -> None:
    """8: a member of a group reads only what it claims at that moment, each offset once, in order."""
    for claim, reads in reads_of_claims(history):
        offsets = [read.offset for read in reads]
        if offsets != sorted(set(offsets)):
            raise InvariantViolation(8, f"{claim} read {offsets}")


def check_commits_spare_reading_again(history: History) -> None:
    """9: whoever takes a partition over reads nothing that was committed, and acknowledged, before."""
    commits: dict[tuple[str, TopicPartition], list[Commit]] = defaultdict(list)
    for commit in history.commits:
        if commit.outcome is Outcome.ACKED and not commit.is_reset:
            commits[commit.group, commit.partition].append(commit)
    for claim, reads in reads_of_claims(history):
        before = [commit for commit in commits[claim.group, claim.partition] if commit.at < claim.since]
        committed = max((commit.offset for commit in before), default=0)
        again = [read.offset for read in reads if read.offset < committed]
        if again:
            raise InvariantViolation(9, f"{claim} read {again[:SHOWN]} again although {committed} was committed before")


def check_group_read_everything(history: History, group: str) -> None:
    """9: every acknowledged record was read by some member of the group: no commit is ahead of what was read."""
    members = {claim.member for claim in history.claims if claim.group == group}
    read = {(one.partition, one.offset) for one in history.reads if one.reader in members}
    missing = [
        send for send in history.sends if send.outcome is Outcome.ACKED and (send.partition, send.offset) not in read
    ]
    if missing:
        raise InvariantViolation(9, f"{len(missing)} records were read by nobody in {group}: {missing[:SHOWN]}")


def reads_of_claims(history: History) -> Iterable[tuple[Claim, list[Read]]]:
    """The reads of groups' members, each under the claim in which it fell."""
    claims: dict[tuple[str, TopicPartition], list[Claim]] = defaultdict(list)
    for claim in sorted(history.claims, key=lambda claim: claim.since):
        claims[claim.member, claim.partition].append(claim)
    members = {claim.member for claim in history.claims}
    found: dict[Claim, list[Read]] = defaultdict(list)
    for read in history.reads:
        if read.reader in members:
            found[claim_of(read, claims[read.reader, read.partition])].append(read)
    return found.items()


def claim_of(read: Read, claims: Iterable[Claim]) -> Claim:
    for claim in claims:
        if claim.since <= read.at and (claim.until is None or read.at <= claim.until):
            return claim
    raise InvariantViolation(8, f"{read} by a member that did not own its partition: {list(claims)}")


OWNERSHIP_CHECKS = (
    check_one_owner_per_generation,
    check_generations_go_up,
    check_partitions_are_handed_over,
    check_claims_are_assignments,
    check_reads_are_by_owners,
    check_commits_spare_reading_again,
)
