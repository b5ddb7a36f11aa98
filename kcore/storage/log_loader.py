"""Opening a log from its directory (Kafka's `LogLoader`), and what happens to damaged files.

After a clean shutdown nothing is scanned. If the last segment matches its entry in `clean_shutdown_state`, that entry,
the names in the directory and the newest producer snapshot are sufficient, and no segment is opened before it is used.
Otherwise segments are used as they are, except those whose indexes are missing or do not match. After a crash every
segment with records at or above the recovery point is read from its start.

Crash policy: the log keeps its valid records up to the first damage, or up to a gap that a loss of power left between
two segments. The rest is cut off. An incomplete batch at the end is lost: it was never acknowledged as flushed. Valid
batches after the damage are saved first: the cut bytes are copied to `<segment>.log.<position>.corrupt`, later segments
are renamed to `*.log.corrupt`, and a WARN has the offsets. A log that ends below its log start offset starts again
there, and its records are saved in the same way. Removed segments and snapshots are removed durably before the log is
used: if they came back after a crash, they would end the log or be loaded. Every step can be repeated, so a crash
during the load does not change the result.

Leftovers: `.deleted` and `.cleaned` files are removed, and indexes without a segment. `.swap` files belong to a
finished compaction and replace the segments in their range. `.corrupt` files are never touched.
"""

from __future__ import annotations

from os import fsencode

from kcore.logger import get_logger
from kcore.storage.checkpoints import LARGEST_OFFSET, LOG_START_OFFSET_FILE
from kcore.storage.log import Log
from kcore.storage.log_recovery import LogRecovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.platform.disk import Disk
    from kcore.storage.clean_shutdown_state import CleanState
    from kcore.storage.log_config import LogConfig
    from kcore.storage.log_recovery import SegmentScan

    OnFailure = Callable[[Log, OSError], None]

log = get_logger("kcore.storage.log_loader")

LOG_SUFFIX = ".log"
INDEX_SUFFIXES = (".index", ".timeindex", ".txnindex")
NEEDED_INDEXES = (".index", ".timeindex")
SNAPSHOT_SUFFIX = ".snapshot"
METADATA_FILE = "partition.metadata"
EPOCH_FILE = "leader-epoch-checkpoint"
OFFSET_DIGITS = 20
MAX_OFFSET = 2**63 - 1


def load_log(
    disk: Disk,
    directory: str,
    topic: str,
    partition: int,
    config: LogConfig,
    *,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    clean_shutdown: bool = False,
    is_durable: bool = False,
    left: CleanState | None = None,
    on_failure: OnFailure | None = None,
) -> Log:
    """The log in `directory`, which is created when it is missing. OSError when the disk fails.

    `recovery_point` and `log_start_offset` are those of the checkpoints (0 without one). `left` is the log's state at a
    clean shutdown, if it is known. `is_durable` means that all of the log is on the device, but may be damaged, so that
    a gap is no loss. `on_failure(log, error)` is called once if a later disk error takes the log offline, by the Python
    call that meets or polls for it.
    """
    opened = Log(disk, fsencode(directory), topic, partition, config, on_failure)
    LogLoader(disk, directory, opened, recovery_point, log_start_offset, clean_shutdown, is_durable, left).load()
    return opened


def new_log(
    disk: Disk, directory: str, topic: str, partition: int, config: LogConfig, *, on_failure: OnFailure | None = None
) -> Log:
    """The log of a new directory. Nothing is read, and no file is created before its first record."""
    created = Log(disk, fsencode(directory), topic, partition, config, on_failure)
    recovery = LogRecovery(created)
    recovery.create_first(0)
    recovery.finish_new()
    return created


class LogLoader:
    """One load of one log."""

    __slots__ = (
        "_clean_shutdown",
        "_directory",
        "_disk",
        "_durable_end",
        "_left",
        "_log",
        "_log_start_offset",
        "_name",
        "_recovery",
        "_recovery_point",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        opened: Log,
        recovery_point: int,
        log_start_offset: int,
        clean_shutdown: bool,
        is_durable: bool,
        left: CleanState | None,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._log = opened
        self._name = f"{opened.topic}-{opened.partition}"
        self._recovery = LogRecovery(opened)
        self._recovery_point = recovery_point
        # Records up to here were acknowledged as durable, however much of the log is read again.
        self._durable_end = MAX_OFFSET if clean_shutdown or is_durable else recovery_point
        self._log_start_offset = log_start_offset
        self._clean_shutdown = clean_shutdown
        self._left = left if clean_shutdown else None

    def load(self) -> None:
        """Loads the log."""
        self._disk.mkdirs(self._directory)
        names = self._disk.listdir(self._directory)
        if names in ([], [METADATA_FILE]) and not self._log_start_offset:
            self._recovery.create_first(0)
            self._recovery.finish_new()
            return
        if self._left is not None and self._take_as_left(names, self._left):
            self._tell_of_damaged_snapshots()
            return
        names = self._remove_leftovers(names)
        offsets = [offset_of(name) for name in names if is_segment_file(name, LOG_SUFFIX)]
        self._remove_orphans(names, set(offsets))
        epochs_are_known = self._log.leader_epochs.load()
        for offset in offsets:
            self._recovery.add_segment(offset)
        epochs_are_lost = not epochs_are_known and self._has_flushed_records(offsets)
        if epochs_are_lost:
            self._rescan_for_epochs()
        self._recover(names, offsets)
        end_offset = self._open_active()
        start_offset = min(max(self._log_start_offset, self._recovery.segment_range(0)[0]), end_offset)
        recovery_point = end_offset if self._clean_shutdown else min(self._recovery_point, end_offset)
        self._recovery.finish(start_offset, end_offset, recovery_point)
        if epochs_are_lost:
            self._recovery.write_epochs()
        self._tell_of_damaged_snapshots()
        self._remove_stray_snapshots()

    # What a clean shutdown left

    def _take_as_left(self, names: list[str], left: CleanState) -> bool:
        """Loads the log without opening a segment. False, without an effect, if anything differs."""
        end_offset, *active = left
        offsets = [offset_of(name) for name in names if is_segment_file(name, LOG_SUFFIX)]
        expected = {f"{digits(offset)}{suffix}" for offset in offsets for suffix in (LOG_SUFFIX, *NEEDED_INDEXES)}
        if not offsets or not expected.issubset(names) or end_offset < self._log_start_offset:
            return False
        if any(name not in expected and not is_kept_as_it_is(name) for name in names):
            return False
        for offset in offsets:
            self._recovery.add_segment(offset)
        has_records = end_offset > offsets[0]
        if not self._recovery.take_active(tuple(active)) or (not self._log.leader_epochs.load() and has_records):
            for _ in offsets:
                self._recovery.drop_last_segment()
            return False
        self._recovery.finish(max(self._log_start_offset, offsets[0]), end_offset, end_offset)
        return True

    # Leftovers of a crash

    def _remove_leftovers(self, names: list[str]) -> list[str]:
        cleaned = [offset_of(name) for name in names if name.endswith(".cleaned") and has_offset(name)]
        for name in names:
            if name.endswith((".deleted", ".cleaned", ".tmp")):
                self._remove(name)
        swaps = [name for name in names if name.endswith(".swap") and has_offset(name)]
        # A split renames its .cleaned files last to first: while one is left, the swaps above it are partial.
        partial = [name for name in swaps if cleaned and offset_of(name) >= min(cleaned)]
        for name in partial:
            self._remove(name)
        complete = [name for name in swaps if name not in partial]
        if complete:
            self._finish_swap(complete, names)
        return self._disk.listdir(self._directory)

    def _finish_swap(self, swaps: list[str], names: list[str]) -> None:
        """Replaces segments by the compacted ones."""
        ranges = [self._swap_range(name) for name in swaps if name.endswith(f"{LOG_SUFFIX}.swap")]
        for name in names:
            if is_segment_file(name, LOG_SUFFIX) and any(low <= offset_of(name) < high for low, high in ranges):
                for suffix in (LOG_SUFFIX, *INDEX_SUFFIXES):
                    self._remove(f"{name.removesuffix(LOG_SUFFIX)}{suffix}")
        for name in swaps:
            self._disk.rename(self._path(name), self._path(name.removesuffix(".swap")))
        log.info("Completed the replacement of segments that a crash interrupted: %s", ", ".join(swaps))

    def _swap_range(self, name: str) -> tuple[int, int]:
        """The base offset and the end offset of a compacted segment, from its batches."""
        from kcore.record.decoder import decode_batches

        base = end = offset_of(name)
        for batch in decode_batches(self._disk.read_file(self._path(name)), check_crc=False):
            end = batch.next_offset
        return base, max(end, base + 1)

    def _remove_orphans(self, names: list[str], offsets: set[int]) -> None:
        for name in names:
            for suffix in INDEX_SUFFIXES:
                if is_segment_file(name, suffix) and offset_of(name) not in offsets:
                    log.warn("Removed %s: its segment does not exist", self._path(name))
                    self._remove(name)

    def _has_flushed_records(self, offsets: list[int]) -> bool:
        """Whether the epochs of some records are only in the file: records above the recovery point are read anyway."""
        if not offsets or not (self._clean_shutdown or offsets[0] < self._recovery_point):
            return False
        return any(self._recovery.segment_range(index)[1] for index in range(len(offsets)))

    def _rescan_for_epochs(self) -> None:
        """Reads all segments, because the file with the epochs is missing."""
        log.info("%s has no readable leader-epoch-checkpoint. It is rebuilt from the segments", self._name)
        self._clean_shutdown = False
        self._recovery_point = 0

    # Segments

    def _recover(self, names: list[str], offsets: list[int]) -> None:
        """Scans segments that a crash may have damaged, and rebuilds indexes that are missing or wrong."""
        present = set(names)
        index = 0
        epochs_are_trusted = True
        while index < len(offsets):  # which recovery may shorten
            base = offsets[index]
            following = offsets[index + 1] if index + 1 < len(offsets) else None
            unflushed = not self._clean_shutdown and (following is None or following > self._recovery_point)
            if unflushed:
                if epochs_are_trusted:
                    self._recovery.forget_epochs_from(base)
                    epochs_are_trusted = False
                self._recover_segment(index, offsets)
            elif not self._has_indexes(index, base, present):
                log.warn(
                    "The indexes of %s/%s are missing, empty or wrong. They are rebuilt",
                    self._directory,
                    digits(base),
                )
                self._recover_segment(index, offsets)
            index += 1

    def _has_indexes(self, index: int, base: int, present: set[str]) -> bool:
        if not all(f"{digits(base)}{suffix}" in present for suffix in NEEDED_INDEXES):
            return False
        return self._recovery.has_sane_indexes(index)

    def _recover_segment(self, index: int, offsets: list[int]) -> None:
        """Scans one segment. Everything after a damage is removed from the log."""
        scan = self._recovery.scan(index)
        reason = scan.reason or self._missing_end(index, offsets, scan)
        if reason is not None:
            self._save_what_follows(index, offsets, scan, reason)
            self._drop_segments_after(index, offsets)
        self._recovery.rebuild_transaction_index(index, scan)
        following = offsets[index + 1] if len(offsets) > index + 1 else None
        self._recovery.commit(index, scan, following is not None and following <= self._recovery_point)

    def _missing_end(self, index: int, offsets: list[int], scan: SegmentScan) -> str | None:
        """The reason to cut a valid segment that ends before the next one begins; None without one.

        A loss of power may drop the unsynced end of a segment, whole batches of it, and keep the next segment. Below
        the recovery point, and where compaction removes records, a gap is normal.
        """
        if self._recovery.is_compacted or scan.next_offset < self._durable_end or index + 1 == len(offsets):
            return None
        if scan.next_offset >= offsets[index + 1]:
            return None
        return f"offsets {scan.next_offset} to {offsets[index + 1] - 1} are missing before the next segment"

    def _save_what_follows(self, index: int, offsets: list[int], scan: SegmentScan, reason: str) -> None:
        base, size = self._recovery.segment_range(index)
        path = self._path(f"{digits(base)}{LOG_SUFFIX}")
        found = self._recovery.find_sound_batch(index, scan.valid_bytes, scan.next_offset)
        later = self._not_empty(offsets[index + 1 :])
        if found is None and not later:
            log.warn("Cut %s at byte %d of %d, offset %d: %s", path, scan.valid_bytes, size, scan.next_offset, reason)
            return
        saved = []
        if scan.valid_bytes < size:
            saved.append(self._free_path(f"{path}.{scan.valid_bytes}.corrupt"))
            self._disk.copy_range(path, saved[0], scan.valid_bytes)
        saved += self._save_segments(later)
        log.warn(
            "Cut %s at byte %d of %d: %s. The log now ends at offset %d. Valid batches from offset %d on were saved "
            "in %s",
            *(path, scan.valid_bytes, size, reason, scan.next_offset),
            *(later[0] if found is None else found, ", ".join(saved)),
        )

    def _not_empty(self, offsets: list[int]) -> list[int]:
        return [offset for offset in offsets if self._disk.size(self._path(f"{digits(offset)}{LOG_SUFFIX}"))]

    def _save_segments(self, offsets: list[int]) -> list[str]:
        """Renames segments to `*.log.corrupt`, durably. Returns the new paths."""
        saved = []
        for offset in offsets:
            path = self._path(f"{digits(offset)}{LOG_SUFFIX}")
            saved.append(self._free_path(f"{path}.corrupt"))
            self._disk.rename(path, saved[-1])
        self._disk.fsync_dir(self._directory)
        return saved

    def _drop_segments_after(self, index: int, offsets: list[int]) -> None:
        """Removes them durably: if they came back after a loss of power, they would conflict with newer records."""
        if len(offsets) <= index + 1:
            return
        while len(offsets) > index + 1:
            offset = offsets.pop()
            self._recovery.drop_last_segment()
            for suffix in (LOG_SUFFIX, *INDEX_SUFFIXES, SNAPSHOT_SUFFIX):
                self._remove(f"{digits(offset)}{suffix}")
        self._disk.fsync_dir(self._directory)

    def _open_active(self) -> int:
        """The log end offset. Scans the last segment if its end cannot be read."""
        count = len(self._log.segments)
        if count == 0:
            return self._begin_at_start()
        end_offset = self._recovery.open_active()
        if end_offset is None:
            offsets = [segment.base_offset for segment in self._log.segments]
            self._recover_segment(count - 1, offsets)
            end_offset = self._recovery.open_active()
            if end_offset is None:
                raise OSError(f"{self._directory}: the last segment changed while it was read")
        if end_offset < self._log_start_offset:
            offsets = [segment.base_offset for segment in self._log.segments]
            # If the checkpoint is wrong, and not the log too short, these are all its records.
            saved = self._save_segments(self._not_empty(offsets))
            log.warn(
                "%s ends at offset %d, below its log start offset %d in %s. It starts again there; %s",
                *(self._name, end_offset, self._log_start_offset, LOG_START_OFFSET_FILE),
                f"its segments were saved in {', '.join(saved)}" if saved else "it had no records",
            )
            self._drop_segments_after(-1, offsets)
            return self._begin_at_start()
        return end_offset

    def _begin_at_start(self) -> int:
        """Begins an empty log at its log start offset.

        The name of the first segment is synced: later it may be the only place with this offset.
        """
        self._recovery.create_first(self._log_start_offset)
        if self._log_start_offset:
            self._disk.fsync_dir(self._directory)
            self._disk.fsync_dir(self._directory.rpartition("/")[0] or "/")
        return self._log_start_offset

    def _tell_of_damaged_snapshots(self) -> None:
        damaged = self._log.producer_state.damaged_snapshots
        if damaged:
            log.warn(
                "Removed %d damaged producer snapshots of %s, the newest at offset %d. The state of producers is read "
                "from the log",
                *(damaged, self._name, self._log.producer_state.newest_damaged_snapshot),
            )

    def _remove_stray_snapshots(self) -> None:
        """Removes all but the latest and those of segment starts (ProducerStateManager.removeStraySnapshots)."""
        bases = {segment.base_offset for segment in self._log.segments}
        snapshots = [name for name in self._disk.listdir(self._directory) if is_segment_file(name, SNAPSHOT_SUFFIX)]
        for name in snapshots[:-1]:
            if offset_of(name) not in bases:
                self._remove(name)

    # Files

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"

    def _remove(self, name: str) -> None:
        self._disk.unlink(self._path(name), missing_ok=True)

    def _free_path(self, path: str) -> str:
        """`path`, or the first of `path.1`, `path.2`... that does not exist: saved files are not overwritten."""
        candidate, number = path, 0
        while self._disk.exists(candidate):
            number += 1
            candidate = f"{path}.{number}"
        return candidate


def digits(offset: int) -> str:
    """An offset as in file names."""
    return f"{offset:0{OFFSET_DIGITS}d}"


def has_offset(name: str) -> bool:
    """Whether a file is named after an offset. Twenty digits may be larger than any offset."""
    number = name[:OFFSET_DIGITS]
    if len(name) <= OFFSET_DIGITS or name[OFFSET_DIGITS] != "." or not (number.isascii() and number.isdigit()):
        return False
    return int(number) <= LARGEST_OFFSET


def offset_of(name: str) -> int:
    """The offset that a file is named after."""
    return int(name[:OFFSET_DIGITS])


def is_kept_as_it_is(name: str) -> bool:
    """Whether a file besides segments and indexes needs no work at a start."""
    return name in (METADATA_FILE, EPOCH_FILE) or name.endswith((SNAPSHOT_SUFFIX, ".corrupt"))


def is_segment_file(name: str, suffix: str) -> bool:
    """Whether a file is `<20 digits><suffix>`."""
    return has_offset(name) and name[OFFSET_DIGITS:] == suffix
