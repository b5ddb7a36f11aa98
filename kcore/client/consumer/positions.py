"""Offsets of a consumer: positions, committed offsets and offsets by time. Immutable values."""

from __future__ import annotations

from typing import NamedTuple

NO_EPOCH = -1
NO_LEADER = -1


class LeaderAndEpoch(NamedTuple):
    """A partition's leader and its epoch from metadata. -1: unknown."""

    leader: int = NO_LEADER
    epoch: int = NO_EPOCH


NOBODY = LeaderAndEpoch()


class FetchPosition(NamedTuple):
    """The next offset to read, the leader epoch of the record before it, and the current leader."""

    offset: int
    offset_epoch: int = NO_EPOCH
    current_leader: LeaderAndEpoch = NOBODY


class OffsetAndMetadata(NamedTuple):
    """A committed offset: the next offset to read, any text, and the leader epoch of the record before it."""

    offset: int
    metadata: str = ""
    leader_epoch: int = NO_EPOCH


class OffsetAndTimestamp(NamedTuple):
    """The first record at or after a time. The timestamp is the record's, in milliseconds."""

    offset: int
    timestamp_ms: int
    leader_epoch: int = NO_EPOCH


class EpochEnd(NamedTuple):
    """The end offset of the highest epoch not above the requested one, in a leader's log; -1: none (KIP-320)."""

    leader_epoch: int
    end_offset: int
