"""A scripted leader: each Fetch waits for the answer that the test gives it."""

from __future__ import annotations

import queue
from typing import Any

from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.unit.client.peer import CLOSE, Fields, ScriptedPeer

TIMEOUT_S = 60.0
NO_ID = bytes(16)
FIRST_WITH_SESSION = 7
Partition = tuple[str, int]


def partition_fields(index: int, **fields: Any) -> Fields:
    """One partition of an answer; without `records` it is empty."""
    return {
        "partition_index": index,
        "error_code": 0,
        "high_watermark": 1000,
        "last_stable_offset": 1000,
        "log_start_offset": 0,
        "aborted_transactions": None,
        "records": b"",
    } | fields


class FetchPeer(ScriptedPeer):
    """`fetches` are the requests that have come, oldest first; `give` answers the next one."""

    def __init__(self, highest_version: int = 17, session_id: int = 77) -> None:
        super().__init__({apis.FETCH.key: self._fetch, apis.API_VERSIONS.key: self._versions})
        self.fetches: queue.Queue[tuple[int, Message]] = queue.Queue()
        self.session_id = session_id
        self.ids: dict[str, bytes] = {}
        self._highest_version = highest_version
        self._answers: queue.Queue[Fields | bytes | None] = queue.Queue()

    def __exit__(self, *exception: object) -> None:
        for _ in range(10):
            self._answers.put(CLOSE)
        super().__exit__(*exception)

    def _versions(self, version: int, request: Message) -> Fields:
        ranges = [(apis.API_VERSIONS.key, 0, 4), (apis.FETCH.key, min(4, self._highest_version), self._highest_version)]
        keys = [{"api_key": key, "min_version": low, "max_version": high} for key, low, high in ranges]
        return {"error_code": 0, "api_keys": keys}

    def _fetch(self, version: int, request: Message) -> Fields | bytes | None:
        self.fetches.put((version, request))
        answer = self._answers.get()
        if isinstance(answer, dict) and version < FIRST_WITH_SESSION:
            del answer["session_id"]
        return answer

    def next_fetch(self) -> Message:
        """The next request; it waits for its answer."""
        return self.fetches.get(timeout=TIMEOUT_S)[1]

    def give(self, partitions: dict[Partition, Fields] | None = None, **fields: Any) -> None:
        """Answers the oldest request that waits, or the next that comes."""
        by_topic: dict[str, list[Fields]] = {}
        for (topic, index), data in (partitions or {}).items():
            by_topic.setdefault(topic, []).append(partition_fields(index, **data))
        responses = [
            {"topic": topic, "topic_id": self.ids.get(topic, NO_ID), "partitions": rows}
            for topic, rows in by_topic.items()
        ]
        self._answers.put(
            {"throttle_time_ms": 0, "error_code": 0, "session_id": self.session_id, "responses": responses} | fields
        )

    def give_bytes(self, answer: bytes) -> None:
        self._answers.put(answer)


def asked(request: Message) -> dict[tuple[str | bytes, int], int]:
    """Partitions of a request with the offsets that it asks for."""
    return {
        (topic.topic_id if topic.topic_id != NO_ID else topic.topic, partition.partition): partition.fetch_offset
        for topic in request.topics
        for partition in topic.partitions
    }


def forgotten(request: Message) -> set[Partition]:
    return {(topic.topic, index) for topic in request.forgotten_topics_data for index in topic.partitions}
