"""What a scenario is: members by name, and steps that say what becomes of them. Data only; `player.py` plays it.

    Scenario(
        "one of two is killed",
        {"a": Member("confluent-kafka"), "b": Member("confluent-kafka")},
        (Step("a joins", Join("a")), Step("b joins", Join("b")), Step("a is killed", Kill("a"))),
    )

After a step's actions the player waits until the group consists of exactly the members that are in it and live, in one
generation that has shared out all partitions, and each application has been told of its share. Then it produces to
every partition, waits until all of that was read and, where members commit, committed, and writes down what it saw.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

# What partition.assignment.strategy is called by its protocol's name; Java's classes are looked up by the Java program.
RANGE = "range"
ROUND_ROBIN = "roundrobin"
STICKY = "sticky"
COOPERATIVE_STICKY = "cooperative-sticky"


class Member(NamedTuple):
    """`client` is a key of member_process.PROGRAMS; `instance`, its group.instance.id, makes it a static member."""

    client: str
    assignor: str = RANGE
    instance: str | None = None


class Join(NamedTuple):
    """They join at once: they subscribe when all are started. One that has ended joins as a new process."""

    names: tuple[str, ...]


class Leave(NamedTuple):
    """They close their consumers, one after another: a dynamic member leaves the group, a static one does not."""

    names: tuple[str, ...]


class Kill(NamedTuple):
    """kill -9 of their processes."""

    names: tuple[str, ...]


class Pause(NamedTuple):
    """SIGSTOP, for longer than their sessions: the group goes on without them."""

    names: tuple[str, ...]


class Resume(NamedTuple):
    """SIGCONT: they find themselves outside of the group, and join again."""

    names: tuple[str, ...]


class Replaced(NamedTuple):
    """Others have joined under their instance ids: they are fenced (KIP-345), and this is over when they know it."""

    names: tuple[str, ...]


class Commits(NamedTuple):
    """From now on they commit what they have read, or do not."""

    names: tuple[str, ...]
    on: bool


Action: TypeAlias = Join | Leave | Kill | Pause | Resume | Replaced | Commits


class Step(NamedTuple):
    """`settles`: whether the group has something to come to; where it has not, nothing is produced and read either.

    `at_once`: several members act at the same time, so that how many generations it takes is not determined.
    """

    name: str
    actions: tuple[Action, ...]
    settles: bool = True
    at_once: bool = False


class Scenario(NamedTuple):
    """`partitions` of the one topic that the group reads; `session_ms` of all members."""

    name: str
    members: Mapping[str, Member]
    steps: tuple[Step, ...]
    partitions: int = 4
    session_ms: int = 3_000


def join(*names: str) -> Join:
    return Join(names)


def leave(*names: str) -> Leave:
    return Leave(names)


def kill(*names: str) -> Kill:
    return Kill(names)


def pause(*names: str) -> Pause:
    return Pause(names)


def resume(*names: str) -> Resume:
    return Resume(names)


def replaced(*names: str) -> Replaced:
    return Replaced(names)


def commits(*names: str, on: bool) -> Commits:
    return Commits(names, on)


def step(name: str, *actions: Action, settles: bool = True, at_once: bool = False) -> Step:
    return Step(name, actions, settles, at_once)
