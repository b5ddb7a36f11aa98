"""`kcli dump-log`: what kafka-dump-log does, reading as a stream and without a Java start."""

from __future__ import annotations

import os
import sys

import click

from kcli.failures import Failure, UsageFailure
from kcli.output import JSON_LINES, TABLE, to_json
from kcli.paths import is_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kcli.log_dump.findings import Findings

    Row = dict[str, Any]


@click.command("dump-log")
@click.argument("paths", metavar="[FILE]...", nargs=-1)
@click.option("--files", metavar="FILE[,FILE]...", help="The files to dump, beside those named as arguments.")
@click.option("--print-data-log", is_flag=True, help="Print keys and payloads too; implies --deep-iteration.")
@click.option("--deep-iteration", is_flag=True, help="Print the records of every batch, of compressed ones too.")
@click.option("--skip-record-metadata", is_flag=True, help="Print only keys and payloads of records.")
@click.option("--verify-index-only", is_flag=True, help="Hold index entries against the log without printing them.")
@click.option("--index-sanity-check", is_flag=True, help="Check an index as a broker does at its start, and no more.")
@click.option("--offsets-decoder", is_flag=True, help="Decode the records of __consumer_offsets.")
@click.option("--max-bytes", type=click.IntRange(min=0), help="Read no more than so many bytes of a .log file.")
@click.option("--max-message-size", type=click.IntRange(min=1), hidden=True, help="Accepted for Kafka's sake.")
@click.option("--key-decoder-class", hidden=True)
@click.option("--value-decoder-class", hidden=True)
@click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="Kafka's lines, or one JSON object a line.",
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
    """Print what segment, index and snapshot files hold.

    Takes .log, .index, .timeindex, .txnindex and .snapshot files, or a partition's directory for all of its .log
    files. What is wrong with them is told on standard error, and makes the exit code 1.
    """
    from kcli.log_dump.findings import Findings
    from kcli.log_dump.text import LineWriter

    named = [*paths, *(name.strip() for name in (files or "").split(",") if name.strip())]
    if not named:
        raise UsageFailure("dump-log: no file is named; give FILE, or --files FILE,FILE")
    if key_decoder_class or value_decoder_class:
        raise UsageFailure("dump-log: Java decoder classes cannot be run; leave --key- and --value-decoder-class out")
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
    problems = findings.lines()
    for problem in problems[:-1]:
        click.echo(problem, err=True)
    if problems:
        raise Failure(problems[-1].strip())


def dump_files(
    paths: list[str], *, deep: bool, sanity_only: bool, verify_only: bool, max_bytes: int | None, findings: Findings
) -> Iterator[Row]:
    """The rows of every file, each file's after a row that names it."""
    from kcli.log_dump.index_files import dump_offset_index, dump_time_index, dump_transaction_index
    from kcli.log_dump.log_file import base_offset_of, dump_log
    from kcli.log_dump.snapshot_file import dump_snapshot

    for path in paths:
        suffix = os.path.splitext(path)[1]
        if suffix not in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
            findings.errors.append(f"{path}: not a .log, .index, .timeindex, .txnindex or .snapshot file")
            continue
        try:
            os.stat(path)
        except FileNotFoundError:
            findings.errors.append(f"{path}: no such file or directory")
            continue
        try:
            starting_offset = base_offset_of(path)
        except ValueError:
            findings.errors.append(f"{path}: the name does not begin with a base offset, as in {0:020d}{suffix}")
            continue
        yield {"kind": "file", "file": path, "starting_offset": starting_offset if suffix == ".log" else None}
        if suffix == ".log":
            yield from dump_log(path, deep=deep, max_bytes=max_bytes, findings=findings)
        elif suffix == ".index":
            yield from dump_offset_index(path, sanity_only=sanity_only, verify_only=verify_only, findings=findings)
        elif suffix == ".timeindex":
            yield from dump_time_index(path, sanity_only=sanity_only, verify_only=verify_only, findings=findings)
        elif suffix == ".txnindex":
            yield from dump_transaction_index(path)
        else:
            yield from dump_snapshot(path, findings)


def _expand(named: list[str]) -> list[str]:
    """A directory stands for its .log files in order."""
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
    """Keys and payloads are printed only when asked for; they may be what is secret in a log."""
    if row["kind"] != "record" or wants_payload:
        return row
    return {name: value for name, value in row.items() if name not in ("key", "value")}
