"""What the scenario is made of: a step is one thing that one client, or one tool, does to a broker.

Every step is run against our broker and against Apache Kafka, in the same order, and its two results are compared. A
step is named by who does it and what it is about, and that name is what `differences.toml` refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kcore.protocol.apis import Api

# What the tools are called, and the class that holds each (Apache Kafka 3.9).
TOOLS = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
}
# Its other options belong to a subcommand.
SERVER_FIRST = (TOOLS["kafka-features"],)


class Step(NamedTuple):
    """`call` is what the client does: a function of the client itself, or data for a program of another language."""

    client: str
    about: str
    call: Any

    @property
    def name(self) -> str:
        return f"{self.client}: {self.about}"


class IdOf(NamedTuple):
    """Stands in a request's fields, or in an action's arguments, for the id that the broker gave a topic."""

    topic: str


class Request(NamedTuple):
    """A request as it is on the wire."""

    api: Api
    version: int
    fields: Mapping[str, Any]


class Action(NamedTuple):
    """One call of Java's AdminClient; AdminSteps.java has them all."""

    action: str
    arguments: Mapping[str, Any]


class Command(NamedTuple):
    """A tool's command line, without the server, which every one of them takes as --bootstrap-server.

    `file` is the content of a file, whose path stands in for the word FILE.
    """

    program: str
    words: tuple[str, ...]
    file: str = ""


FILE = "<file>"


def confluent(about: str, call: Callable[[Any], Any]) -> Step:
    """A function of confluent_kafka's AdminClient."""
    return Step("confluent-kafka", about, call)


def kafka_python(about: str, call: Callable[[Any], Any]) -> Step:
    """A function of kafka-python's KafkaAdminClient."""
    return Step("kafka-python", about, call)


def aiokafka(about: str, call: Callable[[Any], Any]) -> Step:
    """A function of aiokafka's AIOKafkaAdminClient that gives an awaitable."""
    return Step("aiokafka", about, call)


def java(about: str, action: str, **arguments: Any) -> Step:
    return Step("java", about, Action(action, arguments))


def tool(about: str, program: str, *words: str, file: str = "") -> Step:
    return Step(program, about, Command(TOOLS[program], words, file))


def wire(about: str, api: Api, version: int, **fields: Any) -> Step:
    """One request as bytes: for what no client can be made to send, and for every field of the answer."""
    return Step("wire", about, Request(api, version, fields))
