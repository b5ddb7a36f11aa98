"""`kcli console-consumer`: what kafka-console-consumer does. Every record becomes a line of standard output."""

from __future__ import annotations

import time

import click

from kcli.broker_connection import wait_options
from kcli.completion import complete_groups, complete_topics
from kcli.failures import UsageFailure
from kcli.options import bootstrap_server_option
from kcli.output import JSON, JSON_LINES, TABLE
from kcli.properties import parse_properties, read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcli.console.reading import Start
    from kcli.console.record_printer import Formatter

MAX_OFFSET = 2**63 - 1
GROUP_NUMBERS = 100_000
EARLIEST, LATEST = "earliest", "latest"


@click.command("console-consumer")
@click.argument("topic_argument", metavar="[TOPIC]", required=False, shell_complete=complete_topics)
@click.option("--topic", metavar="TOPIC", shell_complete=complete_topics, help="The topic to read.")
@click.option("--include", "--whitelist", "include", metavar="PATTERN", help="Read all topics whose names match.")
@bootstrap_server_option
@click.option("--from-beginning", is_flag=True, help="Start at the earliest record where the group has no offset.")
@click.option("--partition", type=click.IntRange(min=0), help="Read only this partition.")
@click.option("--offset", metavar="N|earliest|latest", help="Where to start in --partition. Default: latest.")
@click.option(
    "--from",
    "from_time",
    metavar="TIME",
    help="Start with the first record of this time or later: 2026-01-31T12:30 (UTC, or with a zone), -1h30m (that long "
    "ago), now, or milliseconds since 1970.",
)
@click.option("--to", "to_time", metavar="TIME", help="End before the first record of this time, or at the end.")
@click.option("--exit-at-end", is_flag=True, help="End where the log ended when reading began.")
@click.option(
    "--group",
    metavar="ID",
    shell_complete=complete_groups,
    help="Read as a member of this consumer group, and commit. Default: a group of its own.",
)
@click.option("--max-messages", type=int, help="End after so many records.")
@click.option("--timeout-ms", type=int, help="End when no record comes for so long.")
@wait_options
@click.option("--isolation-level", type=click.Choice(["read_uncommitted", "read_committed"]), help="As in Kafka.")
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="EXPRESSION",
    help="Print only records that match: key=abc, key~PATTERN, '!key' (null), value~PATTERN, header.NAME, "
    "header.NAME=abc, offset>=100, partition=0, timestamp<N; = != ~ !~ for bytes, = != < <= > >= for numbers. All of "
    "several have to match.",
)
@click.option(
    "-f",
    "--format",
    "format_text",
    metavar="FORMAT",
    help="Print records so: %t topic, %p partition, %o offset, %T timestamp, %h headers, %k key, %K its size, "
    "%s value, %S its size, %R its size in four bytes; \\n, \\t, \\r, \\0, \\xHH.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="Kafka's lines, or one JSON object a record, which `console-producer -i json` reads back.",
)
@click.option(
    "--binary",
    type=click.Choice(["base64", "hex"]),
    default="base64",
    show_default=True,
    help='With -o json: how bytes that are not UTF-8 are written, as {"base64": "..."} or {"hex": "..."}.',
)
@click.option(
    "--property",
    "--formatter-property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="What is printed: print.timestamp, print.partition, print.offset, print.epoch, print.headers, "
    "print.key, print.value, key.separator, line.separator, headers.separator, null.literal, key.deserializer, "
    "value.deserializer.",
)
@click.option("--formatter-config", metavar="FILE", help="A file with such properties.")
@click.option("--formatter", metavar="CLASS", hidden=True)
@click.option("--key-deserializer", metavar="CLASS", help="What makes text of keys, by the name of Kafka's class.")
@click.option("--value-deserializer", metavar="CLASS", help="What makes text of values.")
@click.option(
    "--consumer-property",
    "--command-property",
    "consumer_properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="A configuration of the consumer.",
)
@click.option(
    "--consumer.config", "--command-config", "consumer_config", metavar="FILE", help="A file with such configurations."
)
@click.option("--skip-message-on-error", is_flag=True, help="Pass over a record that a deserializer cannot read.")
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

    Runs until it is interrupted, unless --max-messages, --timeout-ms, --to or --exit-at-end ends it. The last two
    read the partitions that are there without a group, unless one is named, and begin at the earliest record, unless
    something else is said.
    """
    from kcli.client_properties import consumer_config as config_of
    from kcli.client_properties import gather, with_bootstrap_servers
    from kcli.console.reading import Start, find_partitions, read
    from kcli.console.record_filter import filter_of

    now_ms = int(time.time() * 1000)
    start = Start(
        topic or topic_argument,
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


# What the options mean


def _offset(text: str | None, from_beginning: bool) -> int | str | None:
    if text is None:
        return EARLIEST if from_beginning else None
    if text.lower() in (EARLIEST, LATEST):
        return text.lower()
    if not text.isdecimal():
        raise UsageFailure(f"--offset {text!r}: must be a number, earliest or latest")
    if int(text) > MAX_OFFSET:
        raise UsageFailure(f"--offset {text}: must be no more than {MAX_OFFSET}, the largest offset there can be")
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
        raise UsageFailure("--topic and --include: only one of them can say what is read")
    if start.partition is not None and start.topic is None:
        raise UsageFailure("--partition: needs --topic too")
    if offset is not None and start.partition is None:
        raise UsageFailure("--offset: needs --partition too, since offsets count within one")
    if from_beginning and offset is not None:
        raise UsageFailure("--from-beginning and --offset: only one of them can say where to start")
    if start.from_ms is not None and (from_beginning or offset is not None):
        raise UsageFailure("--from: says where to start; leave --from-beginning and --offset out")
    reset = settings.get("auto.offset.reset")
    if from_beginning and reset not in (None, EARLIEST):
        raise UsageFailure(f"--from-beginning and auto.offset.reset={reset}: remove one of them")
    if start.include is not None:
        import re

        try:
            re.compile(start.include)
        except re.error as error:
            raise UsageFailure(f"--include {start.include!r}: {error}") from None


def _settle_group(settings: dict[str, str], start: Start, group: str | None) -> None:
    """A group of one's own is not to be used again, and nothing is committed for it, unless that is asked for."""
    if group == "":
        raise UsageFailure("--group: the name is empty; leave the option out to read without a group")
    named = settings.get("group.id", group)
    if group is not None and named != group:
        raise UsageFailure(f"--group {group} and group.id={named}: only one of them can be the group")
    if named is not None:
        if start.partition is not None:
            raise UsageFailure("--partition and --group: a group's members are given their partitions; leave one out")
        settings["group.id"] = named
        return
    settings.setdefault("enable.auto.commit", "false")
    is_assigned = start.partition is not None or (start.is_bounded and start.include is None)
    if not is_assigned:
        import random

        settings["group.id"] = f"console-consumer-{random.randrange(GROUP_NUMBERS)}"


def _settle_reset(settings: dict[str, str], start: Start, from_beginning: bool) -> None:
    """Where a group has no offset, and where a position is that is out of range."""
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
        raise UsageFailure(f"--formatter {formatter}: must be one of {known}; classes of Java cannot run here")
    if format_text is not None:
        from kcli.console.format_tokens import parse_format

        if output != TABLE:
            raise UsageFailure("-f and -o: only one of them can say how records are printed")
        return formatter_of(settings, parse_format(format_text))
    if output == TABLE:
        return formatter_of(settings)
    from kcli.console.json_records import JsonFormatter

    return JsonFormatter(binary)
