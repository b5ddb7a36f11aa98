"""`kcli dump-log`: like kafka-dump-log, but reads files as a stream and starts without Java."""

from __future__ import annotations

import os
import re
import sys

import click

from kcli.command import Command
from kcli.failures import UsageFailure, raise_failures
from kcli.output import JSON_LINES, TABLE, to_json
from kcli.paths import is_directory
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kcli.log_dump.findings import Findings

    Row = dict[str, Any]

# Segments and cut bytes that recovery saved: SEGMENT.log.corrupt, SEGMENT.log.POSITION.corrupt
SET_ASIDE = re.compile(r"\.log(\.\d+)?\.corrupt(\.\d+)?$")


@click.command(
    "dump-log",
    cls=Command,
    examples="""
    # Print the batches of a segment
    kcli dump-log /var/kafka/orders-0/00000000000000000000.log
    # Print all records of a partition, one JSON object per line
    kcli dump-log /var/kafka/orders-0 --print-data-log -o jsonl
    # Compare an index with its log
    kcli dump-log /var/kafka/orders-0/00000000000000000000.index --verify-index-only
    """,
)
@click.argument("paths", metavar="[FILE]...", nargs=-1)
@click.option("--files", metavar="FILE[,FILE]...", help="Files to print, in addition to the arguments.")
@click.option("--print-data-log", is_flag=True, help="Print keys and values of records. Implies --deep-iteration.")
@click.option("--deep-iteration", is_flag=True, help="Print the records of each batch, also of compressed batches.")
@click.option("--skip-record-metadata", is_flag=True, help="Print only keys and values of records.")
@click.option("--verify-index-only", is_flag=True, help="Compare index entries with the log; do not print them.")
@click.option(
    "--index-sanity-check", is_flag=True, help="For index files: check only the size and the order of entries."
)
@click.option("--offsets-decoder", is_flag=True, help="Decode the records of __consumer_offsets.")
@click.option("--max-bytes", type=IntegerRange(min=0), metavar="BYTES", help="Maximum bytes to read per .log file.")
@click.option("--max-message-size", type=IntegerRange(min=1), hidden=True, help="Accepted, not used.")
@click.option("--key-decoder-class", hidden=True)
@click.option("--value-decoder-class", hidden=True)
@click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="Output format: Kafka's lines, or one JSON object per line.",
)
def command(
    paths: tuple[str, ...],
    files: str | None,
    print_data_log: bool,
    deep_iteration: bool,
    skip_record_metadata: bool,
    verify_index_only: bool,
    index_sanity_check: bool,
    offsets_decoder: bool,
    max_bytes: int | None,
    max_message_size: int | None,
    key_decoder_class: str | None,
    value_decoder_class: str | None,
    output: str,
) -> None:
    """Print segment, index and snapshot files.

    Takes .log, .index, .timeindex, .txnindex and .snapshot files. For a partition directory, its .log files are
    printed. Damage is reported on stderr, and the exit code is 1.

    Also takes the .corrupt files that recovery of a damaged log leaves. They contain the batches after the damage.
    They are printed as .log files, up to the first incomplete batch.
    """
    from kcli.log_dump.findings import Findings
    from kcli.log_dump.text import LineWriter

    named = [*paths, *(name.strip() for name in (files or "").split(",") if name.strip())]
    if not named:
        raise UsageFailure("no file given: pass FILE, or --files FILE,FILE")
    if key_decoder_class or value_decoder_class:
        raise UsageFailure(
            "--key-decoder-class and --value-decoder-class are not supported, because Java classes cannot run here: "
            "remove them"
        )
    wants_payload = print_data_log or offsets_decoder
    findings = Findings()
    rows = dump_files(
        _expand(named),
        deep=deep_iteration or wants_payload,
        sanity_only=index_sanity_check,
        verify_only=verify_index_only,
        max_bytes=max_bytes,
        findings=findings,
    )
    decoder = _decoder(offsets_decoder) if wants_payload else None
    if output == TABLE:
        writer = LineWriter(decoder, skip_record_metadata=skip_record_metadata)
        lines = (writer.line(row) for row in rows)
    else:
        lines = (to_json(_public(row, wants_payload)) for row in rows)
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    raise_failures([line.strip() for line in findings.lines()])


def dump_files(
    paths: list[str], *, deep: bool, sanity_only: bool, verify_only: bool, max_bytes: int | None, findings: Findings
) -> Iterator[Row]:
    """The rows of all files. A row with the file's name comes before its other rows."""
    from kcli.log_dump.index_files import dump_offset_index, dump_time_index, dump_transaction_index
    from kcli.log_dump.log_file import base_offset_of, dump_log
    from kcli.log_dump.snapshot_file import dump_snapshot

    for path in paths:
        suffix = ".log" if SET_ASIDE.search(path) else os.path.splitext(path)[1]
        if suffix not in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
            findings.errors.append(f"{path}: not a .log, .index, .timeindex, .txnindex, .snapshot or .corrupt file")
            continue
        try:
            os.stat(path)
        except FileNotFoundError:
            findings.errors.append(f"{path}: no such file or directory")
            continue
        try:
            starting_offset = base_offset_of(path)
        except ValueError:
            findings.errors.append(f"{path}: the name does not start with a base offset, as in {0:020d}{suffix}")
            continue
        yield {"kind": "file", "file": path, "starting_offset": starting_offset if suffix == ".log" else None}
        if suffix == ".log":
            yield from dump_log(path, deep=deep, max_bytes=max_bytes, findings=findings)
        elif suffix == ".index":
            yield from dump_offset_index(path, sanity_only=sanity_only, verify_only=verify_only, findings=findings)
        elif suffix == ".timeindex":
            yield from dump_time_index(path, sanity_only=sanity_only, verify_only=verify_only, findings=findings)
        elif suffix == ".txnindex":
            yield from dump_transaction_index(path, findings)
        else:
            yield from dump_snapshot(path, findings)


def _expand(named: list[str]) -> list[str]:
    """Replaces directories by their .log files in order."""
    paths = []
    for path in named:
        if is_directory(path):
            paths += sorted(entry.path for entry in os.scandir(path) if entry.name.endswith(".log"))
        else:
            paths.append(path)
    return paths


def _decoder(offsets: bool) -> Any:
    if offsets:
        from kcli.log_dump.offsets_decoder import decode_offsets_record

        return decode_offsets_record
    from kcli.log_dump.text import plain_key_and_value

    return plain_key_and_value


def _public(row: Row, wants_payload: bool) -> Row:
    """Removes keys and values unless they are requested, because they may be confidential."""
    if row["kind"] != "record" or wants_payload:
        return row
    return {name: value for name, value in row.items() if name not in ("key", "value")}
