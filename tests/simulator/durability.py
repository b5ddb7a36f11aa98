"""What a broker's flush policy promises for a loss of power."""

from __future__ import annotations

import enum

from tests.invariants.history import History, Outcome, TopicPartition
from tests.simulator.group import OFFSETS_PARTITION, NotedCommit
from tests.simulator.machine import Machine


class Mode(enum.Enum):
    """Settings under which lives are led; `is_strict` where everything acknowledged has to survive a loss of power."""

    EVERY_MESSAGE = "every-message"
    GROUP_COMMIT = "group-commit"
    DEFAULT = "default"

    @property
    def is_strict(self) -> bool:
        return self is not Mode.DEFAULT

    @property
    def settings(self) -> dict[str, str]:
        if self is Mode.EVERY_MESSAGE:
            return {"log.flush.interval.messages": "1"}
        if self is Mode.GROUP_COMMIT:
            return {"log.flush.group.commit": "true"}
        return {"log.flush.scheduler.interval.ms": "1000"}


def recovery_points(machine: Machine) -> dict[TopicPartition, int]:
    """Below which offset each log is on the device for certain, however its broker has ended."""
    return {partition: log.recovery_point for partition, log in machine.logs.items()}


def forget_unsynced(history: History, synced: dict[TopicPartition, int], commits: list[NotedCommit]) -> None:
    """Takes out of a history what nobody promised: what came behind the recovery points."""
    for partition in {send.partition for send in history.sends} | {read.partition for read in history.reads}:
        history.forget_from(partition, synced.get(partition, 0))
    for noted in commits:
        if noted.log_end > synced.get(OFFSETS_PARTITION, 0):
            replaced = noted.commit._replace(outcome=Outcome.UNKNOWN)
            history.commits = [replaced if one is noted.commit else one for one in history.commits]
    commits.clear()
