"""A well-behaved client beside the fuzzer: it produces, fetches with read_committed, and commits as a group member.

Its topic and its group have names that no mutated request uses. Each exchange must succeed and return what was written.
"""

from __future__ import annotations

from typing import Any

from kcore.protocol import apis
from kcore.record.encoder import encode_batch
from tests.fuzz.requests.findings import Finding
from tests.fuzz.requests.world import MEMBER_ID_REQUIRED, REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS
from tests.raw_client import RawClient

TOPIC, GROUP = "quiet", "quiet-group"
READ_COMMITTED = 1
MAX_BYTES = 1 << 16
REBALANCE_IN_PROGRESS = 27
CONFIGS = {"retention_ms": "-1", "retention_bytes": "-1", "cleanup_policy": "delete", "max_message_bytes": "100000"}


class Bystander:
    """One client with one connection."""

    def __init__(self, port: int) -> None:
        self.client = RawClient(port, client_id="bystander")
        self.client.create_topic(TOPIC, 1, **CONFIGS)
        self.written = 0
        self.member_id, self.generation = "", -1

    def join(self) -> None:
        """Once the coordinator is available."""
        fields: dict[str, Any] = {
            "group_id": GROUP,
            "session_timeout_ms": SESSION_TIMEOUT_MS,
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": bytes(10)}],
        }
        answer = self.client.request(apis.JOIN_GROUP, 5, fields)
        if answer.error_code == MEMBER_ID_REQUIRED:
            answer = self.client.request(apis.JOIN_GROUP, 5, {**fields, "member_id": answer.member_id})
        self.expect("join the group", answer.error_code)
        self.member_id, self.generation = answer.member_id, answer.generation_id
        fields = {"group_id": GROUP, "generation_id": self.generation, "member_id": self.member_id}
        fields["assignments"] = [{"member_id": self.member_id, "assignment": b"all"}]
        self.expect("sync the group", self.client.request(apis.SYNC_GROUP, 3, fields).error_code)

    def exchange(self) -> None:
        """A record goes in and comes out, and its offset is committed and read; raises Finding."""
        try:
            self.produce()
            self.fetch()
            self.commit()
        except (AssertionError, OSError) as error:
            if isinstance(error, Finding):
                raise
            raise Finding(f"the bystander's connection failed: {error!r}") from error

    def expect(self, what: str, error_code: int) -> None:
        if error_code != 0:
            raise Finding(f"the bystander could not {what}: error {error_code}")

    def produce(self) -> None:
        records = encode_batch([(b"key", self.value(), [], 1_700_000_000_000)])
        topic = {"name": TOPIC, "partition_data": [{"index": 0, "records": records}]}
        answer = self.client.request(apis.PRODUCE, 9, {"acks": -1, "timeout_ms": 30_000, "topic_data": [topic]})
        part = answer.responses[0].partition_responses[0]
        self.expect("produce", part.error_code)
        if part.base_offset != self.written:
            raise Finding(f"the bystander's record {self.written} has offset {part.base_offset}")
        self.written += 1

    def value(self) -> bytes:
        return b"record %d" % self.written

    def fetch(self) -> None:
        row = {"partition": 0, "fetch_offset": self.written - 1, "partition_max_bytes": MAX_BYTES}
        fields = {
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": MAX_BYTES,
            "isolation_level": READ_COMMITTED,
            "topics": [{"topic": TOPIC, "partitions": [row]}],
        }
        part = self.client.request(apis.FETCH, 11, fields).responses[0].partitions[0]
        self.expect("fetch", part.error_code)
        if b"record %d" % (self.written - 1) not in bytes(part.records or b""):
            raise Finding(f"the bystander's record {self.written - 1} is not in what it fetched: {part}")

    def commit(self) -> None:
        row = {"partition_index": 0, "committed_offset": self.written, "committed_metadata": ""}
        fields = {
            "group_id": GROUP,
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
            "topics": [{"name": TOPIC, "partitions": [row]}],
        }
        answer = self.client.request(apis.OFFSET_COMMIT, 7, fields)
        self.expect("commit", answer.topics[0].partitions[0].error_code)
        fields = {"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
        part = self.client.request(apis.OFFSET_FETCH, 5, fields).topics[0].partitions[0]
        self.expect("read its committed offset", part.error_code)
        if part.committed_offset != self.written:
            raise Finding(f"the bystander committed offset {self.written} and reads {part.committed_offset}")

    def close(self) -> None:
        self.client.socket.close()
