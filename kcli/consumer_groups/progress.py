"""The progress of groups in each partition: committed offset, log end, member and lag.

A partition belongs to a group if it is assigned to a member, or if the group has committed an offset for it. The log
end is the high watermark, because consumers read no further.
"""

from __future__ import annotations

import time

from kcore.client.admin.groups import GroupAdmin, GroupDescription
from kcore.client.admin.record_times import RecordTimes
from kcore.client.admin.records import RecordAdmin
from kcore.client.admin.results import failures, succeeded
from kcore.client.metadata.cluster import TopicPartition
from kcore.metrics.consumer_lag import first_unread, records_behind, seconds_behind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from kcore.client.admin.group_offsets import CommittedOffset
    from kcore.client.admin.groups import GroupMember
    from kcore.client.cluster_client import ClusterClient

    Row = dict[str, Any]

LATEST, EARLIEST = -1, -2
SEARCH_MS = 5_000


class GroupProgress:
    """A group with one row per partition. The rows have the keys of `groups describe`."""

    __slots__ = ("group", "rows")

    def __init__(self, group: GroupDescription, rows: list[Row]) -> None:
        self.group = group
        self.rows = rows


class ProgressReader:
    """Reads the progress repeatedly with `read`. Times of records are remembered.

    `search_ms` limits the search for unknown times in each reading.
    """

    def __init__(self, client: ClusterClient, search_ms: float | None) -> None:
        self._records = RecordAdmin(client)
        self._groups = GroupAdmin(client)
        self._times = RecordTimes(client)
        self._search_ms = SEARCH_MS if search_ms is None else search_ms

    @property
    def groups(self) -> GroupAdmin:
        return self._groups

    def read(self, group_ids: Iterable[str]) -> tuple[list[GroupProgress], list[str | Exception]]:
        """The groups by id, and the errors of groups and partitions that could not be read."""
        described = self._groups.describe_groups(group_ids)
        groups = [group for group in described.values() if isinstance(group, GroupDescription)]
        failures: list[str | Exception] = [
            error for error in described.values() if not isinstance(error, GroupDescription)
        ]
        committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        for group_id, offsets in self._groups.committed_offsets(group.group_id for group in groups).items():
            if isinstance(offsets, dict):
                committed[group_id] = offsets
            else:
                failures.append(offsets)
        rows = {group.group_id: _rows(group, committed.get(group.group_id, {})) for group in groups}
        every = [row for each in rows.values() for row in each]
        ends, complaints = self._offsets(map(_place, every), LATEST)
        for row in every:
            row["log_end_offset"] = ends.get(_place(row))
            if row["log_end_offset"] is not None and row["current_offset"] is not None:
                row["lag"] = records_behind(row["current_offset"], row["log_end_offset"])
        self._add_seconds(every)
        progress = [GroupProgress(group, rows[group.group_id]) for group in groups]
        return sorted(progress, key=lambda each: each.group.group_id), failures + complaints

    def _offsets(
        self, places: Iterable[TopicPartition], special_time: int
    ) -> tuple[dict[TopicPartition, int], list[str | Exception]]:
        listed = self._records.list_offsets(dict.fromkeys(places, special_time))
        offsets = {place: found.offset for place, found in succeeded(listed).items()}
        return offsets, list(failures(listed).values())

    def _add_seconds(self, rows: Sequence[Row]) -> None:
        """Adds the age of the first unread record to partitions with lag."""
        late = [row for row in rows if row["lag"]]
        starts = self._offsets(map(_place, late), EARLIEST)[0] if late else {}
        unread = {
            id(row): (_place(row), first_unread(row["current_offset"], starts[_place(row)]))
            for row in late
            if _place(row) in starts
        }
        now_ms = int(time.time() * 1000)
        times = self._times.at(unread.values(), self._search_ms)
        for row in rows:
            if row["lag"] is not None:
                position = unread.get(id(row))
                timestamp = None if position is None else times.get(position)
                row["lag_seconds"] = seconds_behind(row["lag"], timestamp, now_ms)


def _rows(group: GroupDescription, committed: Mapping[TopicPartition, CommittedOffset]) -> list[Row]:
    """Partitions of the largest assignments first, then unassigned partitions, as in kafka-consumer-groups."""
    rows = []
    assigned: set[TopicPartition] = set()
    for member in sorted(group.members, key=lambda member: -len(member.assignment)):
        for place in sorted(member.assignment):
            assigned.add(place)
            rows.append(_row(group.group_id, place, committed.get(place), member))
    return rows + [
        _row(group.group_id, place, committed[place], None) for place in sorted(committed) if place not in assigned
    ]


def _row(group_id: str, place: TopicPartition, committed: CommittedOffset | None, member: GroupMember | None) -> Row:
    return {
        "group": group_id,
        "topic": place.topic,
        "partition": place.partition,
        "current_offset": committed.offset if committed else None,
        "leader_epoch": committed.leader_epoch if committed and committed.leader_epoch >= 0 else None,
        "metadata": committed.metadata if committed else None,
        "log_end_offset": None,
        "lag": None,
        "lag_seconds": None,
        "consumer_id": member.member_id if member else None,
        "instance_id": member.instance_id if member else None,
        "host": member.host if member else None,
        "client_id": member.client_id if member else None,
    }


def _place(row: Row) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])
