"""A client's half of a fetch session (KIP-227), written from its description: what `FetchSessionHandler` does in Java.

It keeps the partitions it wants, sends what has changed since the broker last heard of them, and takes out of every
answer what is in it. The records' values are kept for each partition as they came.
"""

from __future__ import annotations

from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import values_of

FIRST_BY_ID = 13
LAST_EPOCH = 2**31 - 1


class SessionClient:
    """Partitions are (topic, index); `ids` are the topics' ids, for versions that need them."""

    def __init__(self, client: RawClient, ids: dict[str, bytes], version: int = 12) -> None:
        self.client = client
        self.ids = ids
        self.version = version
        self.session_id = 0
        self.epoch = 0
        self.offsets: dict[tuple[str, int], int] = {}
        self.sent: dict[tuple[str, int], int] = {}
        self.received: dict[tuple[str, int], list[tuple[int, bytes]]] = {}
        self.answer: Message | None = None

    def want(self, topic: str, index: int, offset: int = 0) -> None:
        self.offsets[topic, index] = offset

    def forget(self, topic: str, index: int) -> None:
        del self.offsets[topic, index]

    def request(self, **more: object) -> dict[str, object]:
        """The next request's fields."""
        news = {part: offset for part, offset in self.offsets.items() if self.sent.get(part) != offset}
        asked = self.offsets if self.epoch == 0 else news
        forgotten = [part for part in self.sent if part not in self.offsets]
        self.sent = dict(self.offsets)
        fields: dict[str, object] = {
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "session_id": self.session_id,
            "session_epoch": self.epoch,
            "topics": [
                {
                    **self.named(topic),
                    "partitions": [{"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20}],
                }
                for (topic, index), offset in asked.items()
            ],
            "forgotten_topics_data": [{**self.named(topic), "partitions": [index]} for topic, index in forgotten],
            **more,
        }
        if self.version < 15:
            fields["replica_id"] = -1
        return fields

    def named(self, topic: str) -> dict[str, object]:
        return {"topic_id": self.ids[topic]} if self.version >= FIRST_BY_ID else {"topic": topic}

    def fetch(self, **more: object) -> dict[tuple[str, int], Message]:
        """One request and its answer: the partitions that this speaks of, in its order."""
        return self.take(self.client.request(apis.FETCH, self.version, self.request(**more)))

    def take(self, answer: Message) -> dict[tuple[str, int], Message]:
        """Goes on from an answer; after an error of the session, anew."""
        self.answer = answer
        if answer.error_code != 0:
            self.session_id = self.epoch = 0
            self.sent = {}
            return {}
        if self.epoch == 0:
            self.session_id = answer.session_id
        if self.session_id:
            self.epoch = 1 if self.epoch == LAST_EPOCH else self.epoch + 1
        else:
            self.sent = {}
        names = {topic_id: topic for topic, topic_id in self.ids.items()}
        parts = {}
        for topic in answer.responses:
            name = names[bytes(topic.topic_id)] if self.version >= FIRST_BY_ID else topic.topic
            for part in topic.partitions:
                parts[name, part.partition_index] = part
                self._keep(name, part)
        return parts

    def _keep(self, topic: str, part: Message) -> None:
        key = (topic, part.partition_index)
        if key not in self.offsets:
            return
        for offset, value in values_of(part.records):
            if offset >= self.offsets[key]:
                self.received.setdefault(key, []).append((offset, value))
                self.offsets[key] = offset + 1
