"""Every message in every version against Apache Kafka's own classes: the same bytes, and the same values by name."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcore import uuid
from kcore.protocol.codec import MessageType
from kcore.protocol.headers import REQUEST_HEADER, RESPONSE_HEADER
from kcore.protocol.message import Message
from kcore.protocol.notation import Field, includes
from tests.unit.protocol import samples

pytestmark = pytest.mark.needs("java", "mvn")

CLIENTS = "org.apache.kafka.common.message"
COORDINATOR = "org.apache.kafka.coordinator.group.generated"
# The last ZooKeeper release has all the old versions, the newest one all the new ones.
RELEASES = (pytest.param("3.9", marks=pytest.mark.full_size), "4")
NEW_IN_4 = {
    ("ListOffsets", 10),
    ("Metadata", 13),
    ("EndTxn", 5),
    ("DescribeCluster", 2),
    ("DescribeGroups", 6),
    ("ConsumerGroupHeartbeat", 1),
    ("ConsumerGroupDescribe", 1),
    ("UpdateFeatures", 2),
}
# What 3.9 has no class for; ListConfigResources was called ListClientMetricsResources, without version 1 (KIP-1142).
WHOLLY_NEW_IN_4 = {
    "ConsumerGroupRegularExpressionKey",
    "ConsumerGroupRegularExpressionValue",
    "ListConfigResourcesRequest",
    "ListConfigResourcesResponse",
}
MESSAGE_TYPES = [*samples.message_types(), REQUEST_HEADER, RESPONSE_HEADER]


class Oracle:
    """One JVM that answers for one release; see MessageOracle.java."""

    def __init__(self, process: subprocess.Popen[str], release: str) -> None:
        self.process = process
        self.release = release

    def ask(self, class_name: str, version: int, data: bytes) -> list[str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{class_name} {version} {data.hex()}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n").split(" ", 2)


@pytest.fixture(scope="session", params=RELEASES)
def oracle(request: pytest.FixtureRequest, checkout: Path) -> Iterator[Oracle]:
    jars = subprocess.run([checkout / "bin/kafka-jars", request.param], stdout=subprocess.PIPE, text=True, check=True)
    source = Path(__file__).with_name("MessageOracle.java")
    command = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", jars.stdout.strip(), str(source)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Oracle(process, request.param)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def class_name(message_type: MessageType) -> str:
    name = message_type.name
    if name.endswith(("Request", "Response")):
        return f"{CLIENTS}.{name}Data"
    if name.startswith("ConsumerProtocol"):
        return f"{CLIENTS}.{name}"
    if name.endswith("Header"):
        return f"{CLIENTS}.{name}Data"
    return f"{COORDINATOR}.{name}"


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def as_json(value: Any, field: Field, version: int) -> Any:
    """A field's value as Kafka's JSON converters write it."""
    if isinstance(value, list):
        return [as_json(item, field, version) for item in value]
    if isinstance(value, Message):
        return json_object(value, version)
    if field.element == "uuid":
        return uuid.to_text(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def json_object(message: Message, version: int) -> dict[str, Any]:
    """Without records, of which Kafka writes the size only."""
    present = [field for field in message._struct.fields if includes(field.versions, version)]
    wanted = [field for field in present if field.element != "records"]
    return {camel_case(field.name): as_json(getattr(message, field.name), field, version) for field in wanted}


def assert_reads_alike(theirs: Any, ours: Any, path: str = "") -> None:
    """Kafka leaves out tagged fields that hold their default; everything else is there on both sides."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in theirs.items():
            if not name.startswith("records") and not name.startswith("_"):
                assert name in ours, f"{path}.{name} is Kafka's only"
                assert_reads_alike(value, ours[name], f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list):
        assert len(ours) == len(theirs), path
        for index, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            assert_reads_alike(their, our, f"{path}[{index}]")
    else:
        assert theirs == ours, path


@pytest.mark.parametrize("message_type", MESSAGE_TYPES, ids=lambda message_type: message_type.name)
def test_kafka_reads_and_writes_the_same(oracle: Oracle, message_type: MessageType) -> None:
    for version in samples.versions_of(message_type):
        for flavour in samples.FLAVOURS:
            ours = message_type.encode(version, samples.sample(message_type, version, flavour))
            kind, *rest = oracle.ask(class_name(message_type), version, ours)
            if oracle.release == "3.9" and message_type.name in WHOLLY_NEW_IN_4:
                assert (kind, rest[0]) == ("error", "java.lang.ClassNotFoundException:")
                continue
            if kind == "unsupported":
                assert known_elsewhere(message_type, version, oracle.release, rest[0]), f"{version} has no oracle"
                continue
            assert kind == "ok", f"version {version}, {flavour}: {' '.join(rest)}"
            message = message_type.decode(version, ours)
            assert rest[0] == ours.hex(), f"version {version}, {flavour}"
            assert_reads_alike(json.loads(rest[1]), json_object(message, version))


def known_elsewhere(message_type: MessageType, version: int, release: str, known: str) -> bool:
    """Whether the other release has what this one lacks: old versions went with 4.0, and some came only then.

    4.0 no longer calls the two bytes before a record's key a version.
    """
    if release == "4":
        return version < int(known.split("-")[0]) or message_type.name.endswith("Key")
    return (message_type.name.removesuffix("Request").removesuffix("Response"), version) in NEW_IN_4
