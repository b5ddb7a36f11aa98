"""`kcli console-consumer`: like kafka-console-consumer, prints each record as a line of standard output."""

from __future__ import annotations

import time

import click

from kcli.broker_connection import wait_options
from kcli.command import Command
from kcli.completion import complete_groups, complete_topics
from kcli.failures import UsageFailure
from kcli.options import bootstrap_server_option
from kcli.output import JSON, JSON_LINES, TABLE
from kcli.properties import parse_properties, read_properties
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcli.console.reading import Start
    from kcli.console.record_printer import Formatter

MAX_OFFSET = 2**63 - 1
GROUP_NUMBERS = 100_000
EARLIEST, LATEST = "earliest", "latest"


@click.command(
    "console-consumer",
    cls=Command,
    examples="""
    # Print all records that a topic has now, with their keys
    kcli console-consumer orders --exit-at-end --property print.key=true
    # Print the records of the last 15 minutes as JSON, then wait for new ones
    kcli console-consumer orders --from -15m -o json
    # Print partition, offset and value of records with the key alice
    kcli console-consumer orders --from-beginning --filter key=alice -f '%p %o %s\\n'
    """,
)
@click.argument("topic_argument", metavar="[TOPIC]", required=False, shell_complete=complete_topics)
@click.option("--topic", metavar="TOPIC", shell_complete=complete_topics, help="Topic to read.")
@click.option("--include", "--whitelist", "include", metavar="REGEX", help="Read all topics that match.")
@bootstrap_server_option
@click.option("--from-beginning", is_flag=True, help="Start at the earliest offset if the group has no offset.")
@click.option("--partition", type=IntegerRange(min=0), metavar="N", help="Partition to read. Default: all.")
@click.option("--offset", metavar="N|earliest|latest", help="Start offset in --partition. Default: latest.")
@click.option(
    "--from",
    "from_time",
    metavar="TIME",
    help="Start at the first record of this time or later: 2026-01-31T12:30 (UTC, or with a time zone), -1h30m (before "
    "now), now, or milliseconds since 1970.",
)
@click.option(
    "--to",
    "to_time",
    metavar="TIME",
    help="Exit before the first record of this time or later, or at the log end offset.",
)
@click.option("--exit-at-end", is_flag=True, help="Exit after the records that exist at the start.")
@click.option(
    "--group",
    metavar="ID",
    shell_complete=complete_groups,
    help="Consumer group to join; offsets are committed. Default: a new group, without commits.",
)
@click.option("--max-messages", type=int, metavar="N", help="Exit after N records.")
@click.option("--timeout-ms", type=int, metavar="MS", help="Exit when no record arrives for this time, in ms.")
@wait_options
@click.option(
    "--isolation-level",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    help="read_committed skips records of open and aborted transactions. Default: read_uncommitted.",
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="EXPRESSION",
    help="Print only records that match: key=abc, key~REGEX, '!key' (null), value~REGEX, header.NAME, "
    "header.NAME=abc, offset>=100, partition=0, timestamp<N. Operators: = != ~ !~ for bytes, = != < <= > >= for "
    "numbers. May be repeated; all filters must match.",
)
@click.option(
    "-f",
    "--format",
    "format_text",
    metavar="FORMAT",
    help="Output format of a record: %t topic, %p partition, %o offset, %T timestamp, %h headers, %k key, %K key size, "
    "%s value, %S value size, %R value size as four bytes; \\n, \\t, \\r, \\0, \\xHH.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="Output format: Kafka's lines, or one JSON object per record, which `console-producer -i json` reads.",
)
@click.option(
    "--binary",
    type=click.Choice(["base64", "hex"]),
    default="base64",
    show_default=True,
    help='Encoding of bytes that are not UTF-8 with -o json: {"base64": "..."} or {"hex": "..."}.',
)
@click.option(
    "--property",
    "--formatter-property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="Property of Kafka's output format: print.timestamp, print.partition, print.offset, print.epoch, "
    "print.headers, print.key, print.value, key.separator, line.separator, headers.separator, null.literal, "
    "key.deserializer, value.deserializer. May be repeated.",
)
@click.option("--formatter-config", metavar="FILE", help="File of such properties.")
@click.option("--formatter", metavar="CLASS", hidden=True)
@click.option("--key-deserializer", metavar="CLASS", help="Deserializer of keys: the name of a Kafka class.")
@click.option("--value-deserializer", metavar="CLASS", help="Deserializer of values: the name of a Kafka class.")
@click.option(
    "--consumer-property",
    "--command-property",
    "consumer_properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="Consumer configuration. May be repeated.",
)
@click.option(
    "--consumer.config", "--command-config", "consumer_config", metavar="FILE", help="Properties file of the consumer."
)
@click.option("--skip-message-on-error", is_flag=True, help="Skip records that a deserializer cannot read.")
@click.option("--enable-systest-events", is_flag=True, hidden=True)
def command(
    topic_argument: str | None,
    topic: str | None,
    include: str | None,
    bootstrap_server: str,
    from_beginning: bool,
    partition: int | None,
    offset: str | None,
    from_time: str | None,
    to_time: str | None,
    exit_at_end: bool,
    group: str | None,
    max_messages: int | None,
    timeout_ms: int | None,
    isolation_level: str | None,
    filters: tuple[str, ...],
    consumer_properties: tuple[str, ...],
    consumer_config: str | None,
    skip_message_on_error: bool,
    enable_systest_events: bool,
    **printing: Any,
) -> int:
    """Print the records of a topic.

    Runs until you interrupt it, or until --max-messages, --timeout-ms, --to or --exit-at-end ends it. With --to or
    --exit-at-end, partitions are read from their earliest offsets and without a group, unless other options say so.
    """
    from kcli.client_properties import consumer_config as config_of
    from kcli.client_properties import gather, with_bootstrap_servers
    from kcli.console.reading import Start, find_partitions, read
    from kcli.console.record_filter import filter_of
    from kcli.topic_selection import one_of

    now_ms = int(time.time() * 1000)
    start = Start(
        one_of(topic_argument, topic),
        include,
        partition,
        _offset(offset, from_beginning),
        _moment("--from", from_time, now_ms),
        _moment("--to", to_time, now_ms),
        exit_at_end,
    )
    settings = gather(consumer_config, consumer_properties, "--consumer-property")
    if isolation_level is not None:
        settings["isolation.level"] = isolation_level
    _check(start, offset, from_beginning, settings)
    formatter = _formatter(**printing)
    matches = filter_of(filters)
    _settle_group(settings, start, group)
    _settle_reset(settings, start, from_beginning)
    config = config_of(with_bootstrap_servers({"client.id": "console-consumer", **settings}, bootstrap_server))
    partitions = find_partitions(config, start)
    try:
        return read(
            config,
            start,
            partitions,
            formatter,
            matches=matches,
            max_messages=None if max_messages is None or max_messages < 0 else max_messages,
            timeout_ms=None if timeout_ms is None or timeout_ms < 0 else timeout_ms,
            skips_errors=skip_message_on_error,
        )
    finally:
        if enable_systest_events:
            click.echo("shutdown_complete")


# Meanings of options


def _offset(text: str | None, from_beginning: bool) -> int | str | None:
    if text is None:
        return EARLIEST if from_beginning else None
    if text.lower() in (EARLIEST, LATEST):
        return text.lower()
    if not text.isdecimal():
        raise UsageFailure(f"--offset {text!r}: must be a number, earliest or latest")
    if int(text) > MAX_OFFSET:
        raise UsageFailure(f"--offset {text}: too large; the largest offset is {MAX_OFFSET}")
    return int(text)


def _moment(option: str, text: str | None, now_ms: int) -> int | None:
    if text is None:
        return None
    from kcli.console.moments import parse_moment

    return parse_moment(option, text, now_ms)


def _check(start: Start, offset: str | None, from_beginning: bool, settings: dict[str, str]) -> None:
    if start.topic is None and start.include is None:
        raise click.UsageError("Missing option '--topic'.")
    if start.topic is not None and start.include is not None:
        raise UsageFailure("--topic and --include cannot be combined: remove one")
    if start.partition is not None and start.topic is None:
        raise UsageFailure("--partition needs a topic: add --topic TOPIC")
    if offset is not None and start.partition is None:
        raise UsageFailure("--offset needs a partition, because offsets count within one: add --partition N")
    if from_beginning and offset is not None:
        raise UsageFailure("--from-beginning and --offset cannot be combined: remove one")
    if start.from_ms is not None and (from_beginning or offset is not None):
        raise UsageFailure("--from cannot be combined with --from-beginning or --offset: remove one")
    if start.from_ms is not None and start.to_ms is not None and start.to_ms < start.from_ms:
        raise UsageFailure("--to is before --from: no record can match. Pass a later --to, or an earlier --from")
    reset = settings.get("auto.offset.reset")
    if from_beginning and reset not in (None, EARLIEST):
        raise UsageFailure(f"--from-beginning contradicts auto.offset.reset={reset}: remove one")
    if start.include is not None:
        import re

        try:
            re.compile(start.include)
        except re.error as error:
            raise UsageFailure(f"--include {start.include!r}: invalid regular expression ({error})") from None


def _settle_group(settings: dict[str, str], start: Start, group: str | None) -> None:
    """A generated group is never used again, so it commits nothing unless the properties enable commits."""
    if group == "":
        raise UsageFailure("--group: the group id is empty. Omit the option to read without a group")
    named = settings.get("group.id", group)
    if group is not None and named != group:
        raise UsageFailure(f"--group {group} contradicts group.id={named}: remove one")
    if named is not None:
        if start.partition is not None:
            raise UsageFailure(
                "--partition and --group cannot be combined, because a group assigns partitions itself: remove one"
            )
        settings["group.id"] = named
        return
    settings.setdefault("enable.auto.commit", "false")
    is_assigned = start.partition is not None or (start.is_bounded and start.include is None)
    if not is_assigned:
        import random

        settings["group.id"] = f"console-consumer-{random.randrange(GROUP_NUMBERS)}"


def _settle_reset(settings: dict[str, str], start: Start, from_beginning: bool) -> None:
    """The start position of a group without offsets, and after an offset that is out of range."""
    is_from_beginning = from_beginning or (start.is_bounded and start.from_ms is None and start.partition is None)
    settings.setdefault("auto.offset.reset", EARLIEST if is_from_beginning else LATEST)


def _formatter(
    *,
    format_text: str | None,
    output: str,
    binary: str,
    properties: tuple[str, ...],
    formatter: str | None,
    formatter_config: str | None,
    key_deserializer: str | None,
    value_deserializer: str | None,
) -> Formatter:
    from kcli.console.record_formatter import DEFAULT_CLASSES, NO_OP_CLASSES, formatter_of

    settings = read_properties(formatter_config)
    for name, given in (("key.deserializer", key_deserializer), ("value.deserializer", value_deserializer)):
        if given is not None:
            settings[name] = given
    settings.update(parse_properties(properties, "--property"))
    if formatter in NO_OP_CLASSES:
        return formatter_of({}, [])
    if formatter is not None and formatter not in DEFAULT_CLASSES:
        known = ", ".join((DEFAULT_CLASSES[0], NO_OP_CLASSES[0]))
        raise UsageFailure(f"--formatter {formatter}: Java classes cannot run here. Supported: {known}")
    if format_text is not None:
        from kcli.console.format_tokens import parse_format

        if output != TABLE:
            raise UsageFailure("-f and -o cannot be combined: remove one")
        return formatter_of(settings, parse_format(format_text))
    if output == TABLE:
        return formatter_of(settings)
    from kcli.console.json_records import JsonFormatter

    return JsonFormatter(binary)
