"""Kafka's producer and consumer properties, as commands get them, turned into the options of this client.

A property that this client does not have is named on stderr and left aside, as Kafka's clients do.
"""

from __future__ import annotations

import click

from kcli.failures import UsageFailure
from kcli.properties import flag_of, number_of, parse_properties, read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PRODUCER_NUMBERS = (
    "batch.size",
    "linger.ms",
    "buffer.memory",
    "max.request.size",
    "max.in.flight.requests.per.connection",
    "max.block.ms",
    "request.timeout.ms",
    "delivery.timeout.ms",
)
PRODUCER_TEXTS = ("client.id", "compression.type", "bootstrap.servers")
CONSUMER_NUMBERS = (
    "fetch.min.bytes",
    "fetch.max.wait.ms",
    "fetch.max.bytes",
    "max.partition.fetch.bytes",
    "auto.commit.interval.ms",
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "request.timeout.ms",
)
CONSUMER_TEXTS = ("client.id", "group.id", "auto.offset.reset", "bootstrap.servers")
CONSUMER_FLAGS = ("enable.auto.commit", "check.crcs")
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}
# Java names its own classes here; keys and values are bytes in this client.
IGNORED_SUFFIXES = (".serializer", ".deserializer")


def gather(config_file: str | None, pairs: tuple[str, ...], option: str) -> dict[str, str]:
    """The properties of a file, then those of the command line."""
    return {**read_properties(config_file), **parse_properties(pairs, option)}


def producer_options(properties: dict[str, str]) -> dict[str, Any]:
    options = _options(properties, PRODUCER_NUMBERS, PRODUCER_TEXTS, ("enable.idempotence",), ("acks",))
    if "acks" in properties:
        if properties["acks"] not in ACKS:
            raise UsageFailure(f"acks={properties['acks']}: must be all, -1, 0 or 1")
        options["acks"] = ACKS[properties["acks"]]
    return options


def consumer_options(properties: dict[str, str]) -> dict[str, Any]:
    options = _options(properties, CONSUMER_NUMBERS, CONSUMER_TEXTS, CONSUMER_FLAGS, ("isolation.level",))
    if "isolation.level" in properties:
        options["isolation_level"] = isolation_level(properties["isolation.level"])
    return options


def isolation_level(text: str) -> int:
    if text not in ISOLATION_LEVELS:
        raise UsageFailure(f"isolation.level={text}: must be read_uncommitted or read_committed")
    return ISOLATION_LEVELS[text]


def _options(
    properties: dict[str, str],
    numbers: tuple[str, ...],
    texts: tuple[str, ...],
    flags: tuple[str, ...],
    others: tuple[str, ...],
) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in properties.items():
        option = name.replace(".", "_")
        if name in numbers:
            options[option] = number_of(properties, name)
        elif name in texts:
            options[option] = value
        elif name in flags:
            options[option] = flag_of(properties, name, False)
        elif name not in others and not name.endswith(IGNORED_SUFFIXES):
            click.echo(f"kcli: {name}: this client has no such property; it is ignored", err=True)
    return options
