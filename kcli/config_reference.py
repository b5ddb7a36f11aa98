"""The references of all configurations, from the tables that the programs use: of brokers and topics
(docs/configuration.md), and of clients (docs/client-configuration.md).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

    from kcore.config.definition import ConfigKey

INTRODUCTION = """\
# Configuration

kcli knows the name, type, default and valid values of every configuration of Apache Kafka 4.3, and of those that Kafka
4 has removed since 3.9. A properties file of either release starts unmodified. Options without effect are marked **not
used**. The broker logs a warning if such an option is set to another value than its default. `kcli configs docs` prints
this page.

A name that is not known from Kafka, kcli or a well-known plugin is an error. The message suggests a known name, and
gives the line of the file or the option. `kcli.config.unknown.keys=warn` ignores such names.

How to change a configuration:

- *read-only*: in the broker's properties, before it starts.
- *per-broker*, *cluster-wide*: also while the broker runs, with `kcli configs alter --broker ID` or
  `--broker-defaults`, or with AlterConfigs of any client. These values are stored in the metadata store and take
  precedence over the properties.

With the embedded metadata store, a cluster has one broker, and some defaults differ: {embedded}.

Differences from Apache Kafka 4.3:

{differences}
"""
CLIENT_INTRODUCTION = """\
# Configuration of clients

kcli's clients know the name, type, default and valid values of every configuration of Apache Kafka 4's producer,
consumer and admin client. In Python, `Producer({"linger.ms": 5})` and `Producer(linger_ms=5)` are equivalent. Values
may be strings, as in a properties file, or Python values. An unknown name causes a warning. Options without effect are
marked **not used**. `kcli configs docs --clients` prints this page.

Differences from Apache Kafka:

- `linger.ms` is 0 by default (Kafka 4: 5). Records are batched anyway while a request of their partition is in flight,
  and a record does not wait if none is.
- `send.buffer.bytes` and `receive.buffer.bytes` are left to the kernel by default.
- Serializers and deserializers are optional. By default, keys and values are bytes.
- A Java class name is accepted only if it is a class of Kafka that kcli implements. Otherwise, pass a Python object or
  function.
"""
CLIENT_TITLES = {
    "producer": "The producer",
    "consumer": "The consumer",
    "admin": "The admin client",
    "connection": "All clients: metadata and connections",
    "security": "All clients: encryption and authentication",
}
TITLES = {
    "server": "The broker",
    "network": "Listeners, connections and threads",
    "log": "Logs",
    "replication": "Replication",
    "group": "Groups and their offsets",
    "transaction": "Transactions and idempotent producers",
    "metrics": "Metrics and quotas",
    "quorum": "KRaft",
    "zookeeper": "ZooKeeper",
    "security": "Authorization, principals and tokens",
    "sasl": "SASL",
    "tls": "TLS",
    "remote_log": "Tiered storage",
    "share": "Share groups",
    "streams": "Streams groups",
}
TOPIC_TITLE = "Topics"


# The units that names end with, and those of names that end without one.
UNITS = {
    "ms": "ms",
    "millis": "ms",
    "seconds": "s",
    "secs": "s",
    "minutes": "min",
    "hours": "h",
    "bytes.per.second": "bytes/s",
    "bytes": "bytes",
    "relogin": "ms",
}
SIZES = (
    "batch.size",
    "buffer.memory",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.buffer.size",
    "max.request.size",
    "metadata.log.max.record.bytes.between.snapshots",
    "offsets.load.buffer.size",
    "sasl.server.max.receive.size",
    "share.coordinator.load.buffer.size",
    "transaction.state.log.load.buffer.size",
)


class Section:
    """The configurations of one subject."""

    __slots__ = ("rows", "title")

    def __init__(self, title: str, rows: list[dict[str, Any]]) -> None:
        self.title = title
        self.rows = rows


def reference(names: Collection[str] = ()) -> list[Section]:
    """Topics, then brokers by subject; only the named configurations if names are given."""
    from kcore.config.documentation import table_names, topic_documentation
    from kcore.config.topic_keys import BROKER_SYNONYMS, TOPIC_KEYS

    rows = []
    for name in sorted(name for name, key in TOPIC_KEYS.items() if not key.is_internal):
        row = _row("topic", TOPIC_KEYS[name], topic_documentation(name))
        row["broker_defaults"] = [synonym for synonym, _ in BROKER_SYNONYMS.get(name, ())]
        rows.append(row)
    sections = [Section(TOPIC_TITLE, rows)]
    sections += [Section(title, _broker_rows(table_names(table))) for table, title in TITLES.items()]
    for section in sections:
        section.rows = [row for row in section.rows if not names or row["name"] in names]
    return sections


def client_reference(names: Collection[str] = ()) -> list[Section]:
    """The configurations of each client, then those of all clients; only the named ones if names are given."""
    from kcore.client.config.client_config import AdminConfig, ConsumerConfig, ProducerConfig
    from kcore.client.config.documentation import texts

    keys = {"producer": ProducerConfig.KEYS, "consumer": ConsumerConfig.KEYS, "admin": AdminConfig.KEYS}
    return [
        Section(
            title,
            [
                _row(table, key, text)
                for name, text in sorted(texts(table).items())
                if not (key := keys.get(table, ProducerConfig.KEYS)[name]).is_internal and (not names or name in names)
            ],
        )
        for table, title in CLIENT_TITLES.items()
    ]


def _broker_rows(names: Iterable[str]) -> list[dict[str, Any]]:
    from kcore.config.broker_keys import BROKER_KEYS
    from kcore.config.documentation import broker_documentation

    keys = [BROKER_KEYS[name] for name in sorted(names)]
    return [_row("broker", key, broker_documentation(key.name)) for key in keys if not key.is_internal]


def _row(scope: str, key: ConfigKey, documentation: str) -> dict[str, Any]:
    from kcore.config.definition import TYPE_NAMES, display

    return {
        "scope": scope,
        "name": key.name,
        "type": TYPE_NAMES[key.type].lower(),
        "unit": unit_of(key.name),
        "default": display(key.default),
        "valid_values": key.validator.valid_values if key.validator is not None else None,
        "importance": key.importance,
        "mode": key.mode,
        "used": key.is_used,
        "documentation": documentation,
    }


def unit_of(name: str) -> str | None:
    """The unit of a number, by the end of its configuration's name; None for a count and for what is no number."""
    if name in SIZES:
        return "bytes"
    return next((unit for end, unit in UNITS.items() if name.endswith(f".{end}")), None)


def markdown(sections: Iterable[Section], *, with_introduction: bool) -> str:
    """A page with a table for each section that has rows."""
    parts = []
    if with_introduction:
        from kcore.config.broker import EMBEDDED_DEFAULTS

        embedded = ", ".join(f"`{name}` {value}" for name, value in sorted(EMBEDDED_DEFAULTS.items()))
        parts.append(INTRODUCTION.format(embedded=embedded, differences=_differences()))
    for section in sections:
        if section.rows:
            is_topics = section.title == TOPIC_TITLE
            parts.append(_table(section, "Broker's default" if is_topics else "Changed"))
    return "\n".join(parts)


def client_markdown(sections: Iterable[Section], *, with_introduction: bool) -> str:
    """The same for clients, with the importance in place of how a configuration is changed."""
    parts = [CLIENT_INTRODUCTION] if with_introduction else []
    parts += [_table(section, "Importance", "importance") for section in sections if section.rows]
    return "\n".join(parts)


def _table(section: Section, last_column: str, last_field: str = "mode") -> str:
    lines = [
        f"## {section.title}",
        "",
        f"| name | default | type | valid values | {last_column.lower()} | description |",
        "|---|---|---|---|---|---|",
    ]
    for row in section.rows:
        defaults = row.get("broker_defaults")
        last = row[last_field] if defaults is None else ", ".join(f"`{name}`" for name in defaults)
        text = row["documentation"] if row["used"] else f"{row['documentation']} **Not used.**"
        kind = f"{row['type']}, {row['unit']}" if row["unit"] else row["type"]
        cells = (f"`{row['name']}`", _default(row["default"]), kind, row["valid_values"] or "", last, text)
        lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _differences() -> str:
    from kcli.config_differences import DIFFERENCES, HEAD

    lines = [HEAD, tuple("---" for _ in HEAD), *DIFFERENCES]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _default(value: str | None) -> str:
    if value is None:
        return "none"
    return f"`{value}`" if value else "empty"
