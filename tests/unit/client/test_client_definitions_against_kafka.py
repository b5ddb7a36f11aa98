"""The definitions of our clients' configurations against those of Apache Kafka 4.3.1 (tests/vectors/config): every name
with its type, default, importance and valid values.

What differs is listed here with its reason, so that nothing else can.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kcore.client
from kcore.client.config.client_config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from kcore.client.config.documentation import NOT_USED, TABLES, client_documentation, texts
from kcore.config.definition import TYPE_NAMES, display

VECTORS = Path(__file__).parents[2] / "vectors" / "config" / "clients-4.3.1.json"
KAFKA: dict[str, dict[str, list[object]]] = json.loads(VECTORS.read_text())
CLIENTS: dict[str, type[ClientConfig]] = {"producer": ProducerConfig, "consumer": ConsumerConfig, "admin": AdminConfig}
OURS_ALONE: dict[str, set[str]] = {
    "producer": set(),
    # Every buffer has a bound, and the bound a name.
    "consumer": {"kcli.fetch.buffer.bytes", "kcli.fetch.decompressed.max.bytes"},
    "admin": set(),
}
OTHER_DEFAULTS = {
    # Left to the kernel, which sizes buffers better by itself.
    "send.buffer.bytes": "-1",
    "receive.buffer.bytes": "-1",
    # A batch does not wait by the clock: it waits while another of its partition is on the way.
    "linger.ms": "0",
    # Of which valid values are written in lower case only.
    "share.acquire.mode": "batch_optimized",
    # What has to be given is said by a rule, in Kafka's words.
    "bootstrap.servers": "",
}
OTHER_VALID_VALUES = {
    # Kafka leaves every size to the operating system, which takes none that are not positive.
    "send.buffer.bytes": "[1,...] or -1",
    "receive.buffer.bytes": "[1,...] or -1",
}
# Bytes go as they are where nothing turns values into them.
NOT_REQUIRED = {"key.serializer", "value.serializer", "key.deserializer", "value.deserializer"}
ROWS = [(client, name) for client, names in KAFKA.items() for name in sorted(names)]


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_every_name_of_kafka_is_known_and_nothing_else_but_our_own(client: str) -> None:
    assert set(CLIENTS[client].KEYS) - OURS_ALONE[client] == set(KAFKA[client])


@pytest.mark.parametrize(("client", "name"), ROWS)
def test_a_configuration_is_kafkas(client: str, name: str) -> None:
    key = CLIENTS[client].KEYS[name]
    kafka_type, default, importance, valid, is_internal, _ = KAFKA[client][name]
    ours = [
        TYPE_NAMES[key.type],
        display(key.default),
        key.importance,
        key.validator.valid_values if key.validator is not None else None,
        key.is_internal,
    ]
    # A list's own validator has nothing to say about its values.
    theirs = [kafka_type, OTHER_DEFAULTS.get(name, default), importance, OTHER_VALID_VALUES.get(name, valid or None)]
    assert ours == [*theirs, is_internal]


def test_what_kafka_requires_is_required_or_has_a_default_of_bytes() -> None:
    required = {name for client in KAFKA for name, row in KAFKA[client].items() if row[5]}
    assert required == {"bootstrap.servers"} | NOT_REQUIRED


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_defaults_satisfy_their_own_validators(client: str) -> None:
    for key in CLIENTS[client].KEYS.values():
        if key.default is not None:
            assert key.parse(display(key.default)) == key.default, key.name
        elif key.validator is not None:
            key.validator.ensure_valid(key.name, None)


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_what_is_called_used_is_read_somewhere(client: str) -> None:
    sources = [
        path.read_text()
        for pattern in ("**/*.py", "**/*.pyx")
        for path in Path(kcore.client.__file__).parent.glob(pattern)
        if not path.name.endswith("_keys.py") and "documentation" not in path.parts
    ]
    code = "\n".join(sources)
    used = [key.name for key in CLIENTS[client].KEYS.values() if key.is_used]
    assert [name for name in used if f'"{name}"' not in code] == []


def test_every_configuration_is_documented() -> None:
    documented = {table: set(texts(table)) for table in TABLES}
    shared = documented["connection"] | documented["security"]
    for client, config in CLIENTS.items():
        assert shared | documented[client] == set(config.KEYS)
    for table in TABLES:
        for name in documented[table]:
            assert client_documentation(name, table).endswith("."), name
            assert client_documentation(name, table, is_used=False).endswith(NOT_USED), name
