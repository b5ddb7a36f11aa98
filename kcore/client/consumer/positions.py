"""Offsets as a consumer deals with them: where it reads next, what it commits, what it finds by time. Values."""

from __future__ import annotations

from typing import NamedTuple

NO_EPOCH = -1
NO_LEADER = -1


class LeaderAndEpoch(NamedTuple):
    """A partition's leader as metadata has it; -1 for what is not known."""

    leader: int = NO_LEADER
    epoch: int = NO_EPOCH


NOBODY = LeaderAndEpoch()


class FetchPosition(NamedTuple):
    """The next offset to read, the leader epoch of the record before it, and the leader it was checked with."""

    offset: int
    offset_epoch: int = NO_EPOCH
    current_leader: LeaderAndEpoch = NOBODY


class OffsetAndMetadata(NamedTuple):
    """A committed offset: the next one to read, with the leader epoch of the record before it, and any text."""

    offset: int
    metadata: str = ""
    leader_epoch: int = NO_EPOCH


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time; the timestamp is that record's, in milliseconds."""

    offset: int
    timestamp_ms: int
    leader_epoch: int = NO_EPOCH


class EpochEnd(NamedTuple):
    """Where a leader's log ends for the highest epoch not above the asked one; -1 where it has none (KIP-320)."""

    leader_epoch: int
    end_offset: int
