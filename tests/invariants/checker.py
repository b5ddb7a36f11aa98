"""The invariants over a `History` of clients, and over the files of a partition's directory.

Every function checks one invariant, in its name or its first word by the number of the design, and raises
`InvariantViolation` with the number and the evidence; a function that returns has looked at all it was given.
`check_history` is all that a history alone can show, `check_files` all that a directory alone can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from tests.invariants import log_files
from tests.invariants.history import (
    Commit,
    Committed,
    History,
    LogView,
    Offsets,
    Outcome,
    Send,
    Sighting,
    TopicPartition,
)
from tests.invariants.log_files import Batch, DamagedFile, Files
from tests.invariants.ownership import OWNERSHIP_CHECKS
from tests.invariants.violation import SHOWN
from tests.invariants.violation import InvariantViolation as InvariantViolation


def check_history(history: History) -> None:
    """Invariants 1, 2, 3, 5, 6, 8 and 9, as far as the history has something on them."""
    for check in HISTORY_CHECKS:
        check(history)


def check_files(
    files: Files,
    *,
    index_interval_bytes: int | None = None,
    log_start_offset: int = 0,
    is_compacted: bool = False,
) -> None:
    """Invariants 3, 4 and 5 in the files of one partition of which nobody says that it was damaged."""
    found = sound_batches(files)
    if not is_compacted:
        check_segments_follow_each_other(found)
    check_offset_indexes(files, found, index_interval_bytes)
    check_time_indexes(files, found)
    check_sequences(found, log_start_offset)
    check_snapshots(files, found, log_start_offset)


# 1: acknowledged records survive


def check_acked_records_survive(history: History) -> None:
    """1: what was acknowledged before a partition was read whole is in it, unless retention has passed it.

    And what was refused is not there.
    """
    by_partition: dict[TopicPartition, list[Send]] = defaultdict(list)
    for send in history.sends:
        by_partition[send.partition].append(send)
    for view in history.views:
        sends = by_partition[view.partition]
        values = set(view.records.values())
        missing = [
            send for send in sends if send.outcome is Outcome.ACKED and send.at <= view.at and send.value not in values
        ]
        lost = [send for send in missing if not is_below_start(send, sends, view)]
        if lost:
            raise InvariantViolation(
                1, f"{len(lost)} acknowledged records are not in {about(view)}; the first: {lost[:SHOWN]}"
            )
        refused = [send for send in sends if send.outcome is Outcome.FAILED and send.value in values]
        if refused:
            raise InvariantViolation(
                1, f"{len(refused)} refused records are in {about(view)}; the first: {refused[:SHOWN]}"
            )


def is_below_start(send: Send, sends: Sequence[Send], view: LogView) -> bool:
    """Whether retention explains that a record is not there.

    An acknowledgement without an offset (a retry of what was written already) places the record before what its
    producer sent next, which is where it must be.
    """
    if send.offset is not None:
        return send.offset < view.start
    later = [
        other.offset
        for other in sends
        if other.producer == send.producer
        and other.number > send.number
        and other.outcome is Outcome.ACKED
        and other.offset is not None
    ]
    return bool(later) and min(later) <= view.start


# 2: (offset, bytes) never changes, offsets are never reused


def check_one_value_per_offset(history: History) -> None:
    """2: whoever was told of an offset's value, at whatever time, was told the same; and somebody had sent it there."""
    sent = history.sends_by_value()
    seen: dict[tuple[TopicPartition, int], Sighting] = {}
    for sighting in history.sightings():
        first = seen.setdefault((sighting.partition, sighting.offset), sighting)
        if first.value != sighting.value:
            raise InvariantViolation(
                2, f"offset {sighting.offset} of {sighting.partition} has two values: {first}, and {sighting}"
            )
        send = sent.get(sighting.value)
        if send is None or send.partition != sighting.partition:
            raise InvariantViolation(2, f"nobody sent that to {sighting.partition}: {sighting}")


def check_ends_never_go_back(history: History) -> None:
    """2: a partition read whole ends behind every offset that anybody was told of before, and its start only rises."""
    by_partition: dict[TopicPartition, list[LogView]] = defaultdict(list)
    for view in sorted(history.views, key=lambda view: view.at):
        by_partition[view.partition].append(view)
    told = sorted(history.told(), key=lambda sighting: sighting.at, reverse=True)
    by_partition_told: dict[TopicPartition, list[Sighting]] = defaultdict(list)
    for sighting in told:
        by_partition_told[sighting.partition].append(sighting)
    for partition, views in by_partition.items():
        waiting = by_partition_told[partition]
        before = views[0]
        for view in views:
            if view.end < before.end or view.start < before.start:
                raise InvariantViolation(2, f"{about(before)} has become {about(view)}")
            before = view
            while waiting and waiting[-1].at <= view.at:
                sighting = waiting.pop()
                if sighting.offset >= view.end:
                    raise InvariantViolation(2, f"{about(view)} ends before what was told: {sighting}")


def check_deleted_stays_deleted(history: History) -> None:
    """2: a partition that was read after DeleteRecords was answered starts no earlier than was answered."""
    for view in history.views:
        for deleted in history.deletions:
            if deleted.partition == view.partition and deleted.at <= view.at and view.start < deleted.log_start:
                raise InvariantViolation(2, f"{about(view)} has again what was deleted: {deleted}")


# 3: a torn tail loses only the tail


def check_views_are_whole(history: History) -> None:
    """3: a partition that is not compacted has a record for every offset between its start and its end."""
    for view in history.views:
        check_has_no_holes(view)


def check_has_no_holes(view: LogView) -> None:
    wanted = range(view.start, view.end)
    if len(view.records) == len(wanted) and all(offset in view.records for offset in wanted):
        return
    missing = [offset for offset in wanted if offset not in view.records]
    beyond = sorted(offset for offset in view.records if offset not in wanted)
    raise InvariantViolation(3, f"{about(view)} has no {missing[:SHOWN]} and has {beyond[:SHOWN]}")


def check_only_tail_lost(before: LogView, after: LogView) -> None:
    """3: what is left of a log is its beginning, as it was; retention may have moved its start."""
    check_has_no_holes(after)
    if after.start < before.start:
        raise InvariantViolation(3, f"{about(before)} has become {about(after)}")
    changed = [
        offset for offset, value in after.records.items() if offset < before.end and before.records[offset] != value
    ]
    if changed:
        raise InvariantViolation(3, f"{about(after)} has other values than before at {sorted(changed)[:SHOWN]}")


def check_nothing_was_set_aside(files: Files) -> None:
    """3: kill -9 tears at most the write in hand, behind which nothing sound can follow: there is nothing to save."""
    saved = sorted(name for name in files if name.endswith(".corrupt"))
    if saved:
        raise InvariantViolation(3, f"records from behind a damage were set aside: {saved}")


def check_segments_follow_each_other(found: Mapping[str, Sequence[Batch]]) -> None:
    """3: offsets go on without a gap from batch to batch, and a segment begins at the offset that it is named by."""
    expected: int | None = None
    for name, batches in found.items():
        base = log_files.base_offset_of(name)
        if expected is not None and base != expected:
            raise InvariantViolation(3, f"{name} follows on a segment that ends at offset {expected}")
        expected = base
        for batch in batches:
            if batch.base_offset != expected:
                raise InvariantViolation(3, f"{name}: offset {expected} is missing before {batch}")
            expected = batch.last_offset + 1


# 4: indexes are derivable


def sound_batches(files: Files) -> dict[str, list[Batch]]:
    """4: from whole batches alone; a log that is read to its end has nothing else in it."""
    try:
        return log_files.all_batches(files)
    except DamagedFile as damage:
        raise InvariantViolation(4, str(damage)) from damage


def check_offset_indexes(files: Files, found: Mapping[str, Sequence[Batch]], interval_bytes: int | None) -> None:
    """4: an entry has a batch's last offset and its position, and entries are as dense as was configured.

    LogSegment.append adds an entry for a batch when more than `interval_bytes` have come since the last entry.
    """
    for name, batches in found.items():
        index = name.replace(".log", ".index")
        base = log_files.base_offset_of(name)
        if index not in files:
            raise InvariantViolation(4, f"{name} has no {index}")
        at = {batch.position: batch for batch in batches}
        entries = log_files.index_entries(files[index], log_files.OFFSET_ENTRY)
        for relative, position in entries:
            batch = at.get(position)
            if batch is None or batch.last_offset != base + relative:
                raise InvariantViolation(4, f"{index}: the entry ({base + relative}, {position}) leads to {batch}")
        positions = [position for _, position in entries]
        if positions != sorted(set(positions)):
            raise InvariantViolation(4, f"{index}: positions do not rise: {positions}")
        if interval_bytes is not None:
            check_density(index, batches, set(positions), interval_bytes)


def check_density(index: str, batches: Sequence[Batch], positions: Collection[int], interval_bytes: int) -> None:
    since_entry = 0
    for batch in batches:
        if batch.position in positions:
            since_entry = 0
        elif since_entry > interval_bytes:
            raise InvariantViolation(
                4, f"{index} has no entry for {batch}, {since_entry} bytes behind the last ({interval_bytes} allowed)"
            )
        since_entry += batch.size_bytes


def check_time_indexes(files: Files, found: Mapping[str, Sequence[Batch]]) -> None:
    """4: an entry says that no record up to its offset is younger than its timestamp, and that one is as young."""
    for name, batches in found.items():
        index = name.replace(".log", ".timeindex")
        base = log_files.base_offset_of(name)
        if index not in files:
            raise InvariantViolation(4, f"{name} has no {index}")
        previous = (-1, -1)
        for timestamp, relative in log_files.index_entries(files[index], log_files.TIME_ENTRY):
            if timestamp <= previous[0] or relative < previous[1]:
                raise InvariantViolation(4, f"{index}: {(timestamp, relative)} follows on {previous}")
            previous = (timestamp, relative)
            newest = max((batch.max_timestamp for batch in batches if batch.last_offset <= base + relative), default=-1)
            named = [batch for batch in batches if batch.last_offset == base + relative]
            if newest != timestamp or not named or named[0].max_timestamp != timestamp:
                raise InvariantViolation(
                    4, f"{index}: the entry ({timestamp}, {base + relative}) leads to {named}, the newest is {newest}"
                )


def check_snapshots(files: Files, found: Mapping[str, Sequence[Batch]], log_start_offset: int = 0) -> None:
    """4: a snapshot has the last sequence, before its offset, of every producer that is in the log there.

    Of a producer whose records all lie below the log start offset it may have nothing, as in Kafka: without a snapshot
    the state is made from the records that are still to be read.
    """
    for name in log_files.segment_files(files, ".snapshot"):
        offset = log_files.base_offset_of(name)
        try:
            entries = {entry.producer_id: entry for entry in log_files.snapshot_entries(name, files[name])}
        except DamagedFile as damage:
            raise InvariantViolation(4, str(damage)) from damage
        last: dict[int, Batch] = {}
        for batches in found.values():
            for batch in batches:
                if batch.producer_id >= 0 and batch.last_offset < offset:
                    last[batch.producer_id] = batch
        last = {producer_id: batch for producer_id, batch in last.items() if batch.last_offset >= log_start_offset}
        for producer_id, batch in last.items():
            entry = entries.get(producer_id)
            if entry is None or (entry.last_sequence, entry.last_offset) != (batch.last_sequence, batch.last_offset):
                raise InvariantViolation(4, f"{name} has {entry} where the log has {batch}")


# 5: idempotent producers give no duplicate and no reorder across restarts


def check_producers_order(history: History) -> None:
    """5: of an idempotent producer every record is there once at most, of an ordered one records come in its order.

    A producer that is ordered only by having one request in flight may have written some again; what counts of those
    is where they came first.
    """
    sent = history.sends_by_value()
    values: dict[TopicPartition, dict[int, bytes]] = defaultdict(dict)
    for sighting in history.sightings():
        values[sighting.partition].setdefault(sighting.offset, sighting.value)
    for partition, by_offset in values.items():
        first: dict[bytes, int] = {}
        newest: dict[str, tuple[int, int]] = {}
        for offset in sorted(by_offset):
            value = by_offset[offset]
            send = sent.get(value)
            if send is None:
                continue  # which is invariant 2's business
            producer = history.producers[send.producer]
            if value in first:
                if producer.idempotent:
                    raise InvariantViolation(5, f"{partition} has {value!r} at {first[value]} and at {offset}")
                continue
            first[value] = offset
            number, where = newest.get(producer.name, (-1, -1))
            if producer.ordered and send.number < number:
                raise InvariantViolation(
                    5, f"{partition} has number {number} of {producer.name} at {where} before {send.number} at {offset}"
                )
            newest[producer.name] = (send.number, offset)


def check_sequences(found: Mapping[str, Sequence[Batch]], log_start_offset: int = 0) -> None:
    """5: in the files, a producer's sequences go on from batch to batch; a new epoch begins at 0.

    What lies below the log start offset may be forgotten: without a snapshot a producer may begin anywhere.
    """
    last: dict[int, Batch] = {}
    for name, batches in found.items():
        for batch in batches:
            if batch.producer_id < 0 or batch.is_control or batch.last_offset < log_start_offset:
                continue
            before = last.get(batch.producer_id)
            if before is not None:
                same_epoch = batch.producer_epoch == before.producer_epoch
                expected = (before.last_sequence + 1) & 0x7FFFFFFF if same_epoch else 0
                if batch.base_sequence != expected or batch.producer_epoch < before.producer_epoch:
                    raise InvariantViolation(5, f"{name}: sequence {expected} was to follow on {before}, not {batch}")
            last[batch.producer_id] = batch


# 6: LSO <= HW <= LEO


def check_offsets_are_in_order(history: History) -> None:
    """6: log start offset <= last stable offset <= high watermark <= log end offset."""
    for seen in history.offsets:
        check_offsets(seen)


def check_offsets(seen: Offsets) -> None:
    if not 0 <= seen.log_start <= seen.last_stable <= seen.high_watermark <= seen.log_end:
        raise InvariantViolation(6, f"{seen}")


# 7: retention removes only eligible segments


def check_retention_by_size(files: Files, retention_bytes: int) -> None:
    """7: with `retention.bytes` alone, a log from which segments were removed still has that many bytes."""
    segments = log_files.segment_files(files, ".log")
    if not segments or log_files.base_offset_of(segments[0]) == 0:
        return
    left = sum(len(files[name]) for name in segments)
    if left < retention_bytes:
        raise InvariantViolation(7, f"{left} bytes are left from {segments[0]} on, {retention_bytes} were to be kept")


# 9: committed offsets never go back except by reset


def check_committed_offsets(history: History) -> None:
    """9: what a group is told was committed is what it did commit, and at least what was acknowledged before.

    A commit without an answer may count or not; so may one that was under way while the question was asked.
    """
    commits: dict[tuple[str, TopicPartition], list[Commit]] = defaultdict(list)
    for commit in sorted(history.commits, key=lambda commit: commit.at):
        commits[commit.group, commit.partition].append(commit)
    for told in history.committed:
        check_committed_offset(told, commits[told.group, told.partition])


def check_committed_offset(told: Committed, commits: Sequence[Commit]) -> None:
    before = [commit for commit in commits if commit.at <= told.at and commit.outcome is Outcome.ACKED]
    last_reset = max((commit.at for commit in before if commit.is_reset), default=None)
    if last_reset is not None:
        before = [commit for commit in before if commit.at >= last_reset]
    at_least = max((commit.offset for commit in before), default=None)
    resets = [commit.at for commit in commits if commit.is_reset and commit not in before]
    # A reset that may count lets everything count that was committed from then on.
    since_reset = {commit.offset for commit in commits if resets and commit.at >= min(resets)}
    if at_least is not None and (told.offset is None or told.offset < at_least) and told.offset not in since_reset:
        raise InvariantViolation(9, f"{told} although {at_least} was acknowledged before")
    possible = {commit.offset for commit in commits if commit.outcome is not Outcome.FAILED}
    if told.offset is not None and told.offset not in possible:
        raise InvariantViolation(9, f"{told}, which nobody committed; commits were of {sorted(possible)[-SHOWN:]}")


# 10: recovery is idempotent


def check_recovery_is_idempotent(first: Files, second: Files) -> None:
    """10: opening a log again after it was opened, with nothing in between, leaves the same files."""
    came, went = sorted(second.keys() - first.keys()), sorted(first.keys() - second.keys())
    changed = sorted(name for name in first.keys() & second.keys() if first[name] != second[name])
    if came or went or changed:
        raise InvariantViolation(10, f"opened again, these came: {came}, went: {went}, changed: {changed}")


# 12: when faults stop, everyone makes progress


def check_everyone_makes_progress(
    history: History, since: int, producers: Iterable[str], groups: Iterable[str]
) -> None:
    """12: since a moment after the last fault each of these producers had an acknowledgement, each group a commit."""
    acked = {send.producer for send in history.sends if send.outcome is Outcome.ACKED and send.at >= since}
    committed = {commit.group for commit in history.commits if commit.outcome is Outcome.ACKED and commit.at >= since}
    stuck = sorted({*producers} - acked) + sorted({*groups} - committed)
    if stuck:
        raise InvariantViolation(12, f"no progress since {since} of {stuck}")


# 14: the dump tool agrees with what consumers saw


def check_dump_agrees(view: LogView, dumped: Iterable[tuple[int, bytes]]) -> None:
    """14: a dump of the segments has, from the log start offset on, exactly what consumers read.

    The first segment may begin before the log start offset: that is what DeleteRecords leaves.
    """
    told = [(offset, value) for offset, value in dumped if offset >= view.start]
    read = sorted(view.records.items())
    if told == read:
        return
    only_dumped = sorted({*told} - {*read})[:SHOWN]
    only_read = sorted({*read} - {*told})[:SHOWN]
    raise InvariantViolation(
        14,
        f"{about(view)}: {len(told)} records dumped, {len(read)} read; "
        f"only in the dump: {only_dumped}, only read: {only_read}",
    )


def about(view: LogView) -> str:
    """A view without its records."""
    return f"{view.partition} [{view.start}, {view.end}) read at {view.at}"


HISTORY_CHECKS = (
    check_acked_records_survive,
    check_one_value_per_offset,
    check_ends_never_go_back,
    check_deleted_stays_deleted,
    check_views_are_whole,
    check_producers_order,
    check_offsets_are_in_order,
    check_committed_offsets,
    *OWNERSHIP_CHECKS,
)
