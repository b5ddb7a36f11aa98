"""The files of a simulated machine's partitions, held against the invariants."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kcli.log_dump.findings import Findings
from kcli.log_dump.log_file import dump_log
from kcore.testing.embedded_broker import MEMORY_FILE_SYSTEM
from tests.invariants import checker
from tests.invariants.checker import InvariantViolation
from tests.invariants.history import LogView, TopicPartition
from tests.invariants.log_files import Files, segment_files
from tests.simulator.group import OFFSETS_PARTITION
from tests.simulator.machine import Machine

# What a flush writes, and with group commit every start begins one.
EPOCH_FILE = "leader-epoch-checkpoint"


def all_files(machine: Machine) -> dict[str, bytes]:
    """Of every partition, by partition and name, but for what a flush writes."""
    return {
        f"{partition}/{name}": content
        for partition in machine.partitions()
        for name, content in machine.files(partition).items()
        if not name.startswith(EPOCH_FILE)
    }


def check_recovery_twice(machine: Machine) -> None:
    """10: a process that is killed once it has recovered leaves what the next one finds all right; after an end."""
    found = []
    for _ in range(2):
        machine.start(does_work=False)
        machine.kill()
        found.append(all_files(machine))
    checker.check_recovery_is_idempotent(*found)


def set_aside(machine: Machine) -> dict[str, bytes]:
    """What recoveries have kept of what they cut."""
    return {name: content for name, content in all_files(machine).items() if name.endswith(".corrupt")}


def check_at_rest(machine: Machine, views: dict[TopicPartition, LogView]) -> None:
    """3, 4, 5 and 14, of a broker that was stopped cleanly; `views` are what clients read just before."""
    for partition in machine.partitions():
        files = machine.files(partition)
        view = views.get(partition)
        checker.check_files(
            files,
            log_start_offset=view.start if view is not None else 0,
            is_compacted=partition == OFFSETS_PARTITION,
        )
        if view is not None:
            checker.check_dump_agrees(view, dumped(files))


def dumped(files: Files) -> list[tuple[int, bytes]]:
    """What `kcli dump-log` finds in the segments; InvariantViolation 14 when it finds anything wrong."""
    found: list[tuple[int, bytes]] = []
    findings = Findings()
    root = MEMORY_FILE_SYSTEM if Path(MEMORY_FILE_SYSTEM).is_dir() else None
    with tempfile.TemporaryDirectory(dir=root) as directory:
        for name in segment_files(files, ".log"):
            path = Path(directory, name)
            path.write_bytes(files[name])
            rows = dump_log(str(path), deep=True, max_bytes=None, findings=findings)
            found += [(row["offset"], row["value"]) for row in rows if row["kind"] == "record"]
    if lines := findings.lines():
        raise InvariantViolation(14, f"the dump tool found: {lines}")
    return found
