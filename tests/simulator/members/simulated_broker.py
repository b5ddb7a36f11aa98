"""A broker for members under simulation: the group handlers and the coordinator behind them, over a log in memory.

Requests and answers pass through the codec, in a version that both sides know, as they would over a socket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from kcore.client.consumer.broker_request import BrokerRequest
from kcore.controller.features import FIRST_LEVELS
from kcore.metadata.image import MetadataImage, PartitionState, TopicImage
from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.simulator.groups.service import Life, Service

HANDLERS = {
    apis.JOIN_GROUP.key: "join_group",
    apis.SYNC_GROUP.key: "sync_group",
    apis.HEARTBEAT.key: "heartbeat",
    apis.LEAVE_GROUP.key: "leave_group",
    apis.OFFSET_COMMIT.key: "offset_commit",
    apis.OFFSET_FETCH.key: "offset_fetch",
    apis.CONSUMER_GROUP_HEARTBEAT.key: "consumer_group_heartbeat",
}
NODE_ID = 1
Give = Callable[[Message], None]


class Context:
    """What a handler sees of a connection."""

    def __init__(self, broker: SimulatedBroker, life: Life, request: BrokerRequest, version: int, give: Give) -> None:
        self.broker = SimpleNamespace(
            group_coordinator=life.coordinator, metadata_cache=broker, config=broker.service.config
        )
        self.api_version = version
        self.client_id = "c"
        self.connection = SimpleNamespace(client_host="h")
        self.is_connected = True
        self._api = request.api
        self._life = life
        self._give = give
        life.waiting.add(self)  # type: ignore[arg-type]

    def respond(self, fields: Mapping[str, Any]) -> None:
        self._life.waiting.discard(self)  # type: ignore[arg-type]
        if not self._life.is_over:
            response = self._api.response
            self._give(response.decode(self.api_version, response.encode(self.api_version, fields)))


class SimulatedBroker:
    """`topics` has the number of partitions by name; `told` hears of every request that was answered."""

    def __init__(self, service: Service, topics: dict[str, int]) -> None:
        self.service = service
        self.topics = topics
        self.told: Callable[[BrokerRequest, Message, Message], None] = lambda request, asked, answer: None
        self.show()

    def partition(self, topic: str, number: int) -> object | None:
        """The metadata cache, as OffsetCommit asks it."""
        return self if number < self.topics.get(topic, 0) else None

    def show(self) -> None:
        """The cluster's metadata to the coordinator."""
        topics = {name: self._topic(name) for name in self.topics}
        self.image = MetadataImage(topics=topics, features=FIRST_LEVELS)
        self.service.life.coordinator.on_image(self.image)

    def _topic(self, name: str) -> TopicImage:
        states = [PartitionState(name, number, (NODE_ID,), (NODE_ID,), 1) for number in range(self.topics[name])]
        return TopicImage(name, topic_id(name), states)

    def restart(self) -> None:
        self.service.restart()
        self.show()

    def answer(self, request: BrokerRequest, version: int, give: Give) -> None:
        """Now, later, or never."""
        api = request.api
        asked = api.request.decode(version, api.request.encode(version, request.fields(version)))
        life = self.service.life

        def give_and_tell(answer: Message) -> None:
            self.told(request, asked, answer)
            give(answer)

        if life.is_over:
            return
        context = Context(self, life, request, version, give_and_tell)
        if api.key == apis.METADATA.key:
            context.respond(self._describe(asked))
        elif api.key == apis.FIND_COORDINATOR.key:
            found = {"node_id": NODE_ID, "host": "h", "port": 1, "error_code": 0}
            context.respond({"coordinators": [{"key": "g", **found}]} if version >= 4 else found)
        else:
            handle = import_module(f"kcore.server.handlers.{HANDLERS[api.key]}").handle
            fields = life.survive(lambda: handle(context, asked))
            if fields is not None:
                context.respond(fields)

    def _describe(self, asked: Message) -> dict[str, Any]:
        wanted = self.topics if asked.topics is None else [topic.name for topic in asked.topics]
        return {
            "brokers": [{"node_id": NODE_ID, "host": "h", "port": 1}],
            "controller_id": NODE_ID,
            "topics": [self._describe_topic(name) for name in wanted],
        }

    def _describe_topic(self, name: str) -> dict[str, Any]:
        if name not in self.topics:
            return {"name": name, "error_code": 3, "partitions": []}
        partitions = [
            {"partition_index": n, "leader_id": NODE_ID, "leader_epoch": 1, "replica_nodes": [1], "isr_nodes": [1]}
            for n in range(self.topics[name])
        ]
        return {"name": name, "error_code": 0, "topic_id": topic_id(name), "partitions": partitions}


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b".")
