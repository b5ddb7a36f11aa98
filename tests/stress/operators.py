"""Operators: topics that come and go, configurations, quotas and bounds that change, records that are deleted."""

from __future__ import annotations

from typing import Any

from kcore.protocol import apis
from tests.stress.client import Client, Situation
from tests.stress.connection import Connection
from tests.stress.partition_history import Violation
from tests.stress.topics import Topic

OK, UNKNOWN_TOPIC, TOPIC_EXISTS = 0, 3, 36
TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
ALL_BROKERS = ""
NAMES_EACH = 2
EARLIEST, LATEST = -2, -1

TOPIC_CONFIGS = {
    "segment.bytes": ("65536", "131072", "400000", "1073741824"),
    "segment.index.bytes": ("64", "1024", "10485760"),
    "index.interval.bytes": ("0", "500", "4096"),
    "segment.ms": ("500", "604800000"),
    "flush.messages": ("1", "10", "9223372036854775807"),
    "compression.type": ("producer", "lz4", "uncompressed", "gzip"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
}
RETENTION = {"retention.bytes": ("100000", "500000", "-1"), "retention.ms": ("86400000", "3000", "-1")}
BROKER_CONFIGS = {
    "num.io.threads": ("2", "3", "4"),
    "num.network.threads": ("2", "3", "4"),
    "kcli.request.log": ("off", "summary", "off"),
    "kcli.request.log.slow.ms": ("-1", "1"),
    "log.segment.delete.delay.ms": ("0", "200"),
    "max.connections": ("30", "40", "1000"),
    "max.connection.creation.rate": ("40", "100000"),
}
QUOTAS = {"producer_byte_rate": 200_000.0, "consumer_byte_rate": 5_000_000.0, "request_percentage": 20.0}
QUOTED = ("producer-0", "producer-1", "idempotent-0", "consumer-0", "consumer-1", "session-0", "session-1", None)


class Operator(Client):
    """Owns two topics that come and go; changes what belongs to all."""

    kind = "operator"

    def __init__(self, situation: Situation, number: int) -> None:
        super().__init__(situation, number)
        self.names = [f"passing-{number * NAMES_EACH + index}" for index in range(NAMES_EACH)]
        self.uncertain = set(self.names)
        self.bounded: set[str] = set()
        self.quoted: set[tuple[str | None, str]] = set()

    async def step(self, connection: Connection) -> None:
        await self.pause(0.15)
        works = (
            self.change_topics, self.change_topics, self.change_topic_config, self.change_broker_config,
            self.change_quota, self.delete_records, self.delete_records, self.look_around,
        )  # fmt: skip
        await self.source.choice(works)(connection)

    async def finish(self) -> None:
        """Nothing may hold up the others at the end."""
        while self.bounded or self.quoted:
            if self.connection is None:
                self.connection = await Connection.open(self.situation.port, self.name, self.situation.patience_s)
            if self.bounded:
                await self.alter(self.connection, BROKER, ALL_BROKERS, dict.fromkeys(self.bounded))
                self.bounded.clear()
            for entity, quota in sorted(self.quoted, key=str):
                await self.set_quota(self.connection, entity, quota, None)

    # --- topics -----------------------------------------------------------------------------------------------------

    async def change_topics(self, connection: Connection) -> None:
        name = self.source.choice(self.names)
        if name in self.uncertain or name in self.topics.passing:
            await self.delete_topic(connection, name)
        else:
            await self.create_topic(connection, name)

    async def create_topic(self, connection: Connection, name: str) -> None:
        partitions = self.source.choice((1, 2, 5))
        self.uncertain.add(name)
        topic = await create_topic(connection, self.topics.tag(name), name, partitions, self.topic_configs(name))
        self.topics.passing[name] = topic
        self.uncertain.discard(name)

    async def delete_topic(self, connection: Connection, name: str) -> None:
        topic = self.topics.passing.get(name)
        if topic is not None:
            topic.is_going = True
        self.uncertain.add(name)
        answer = await connection.request(apis.DELETE_TOPICS, 5, {"topic_names": [name], "timeout_ms": 30_000})
        error = answer.responses[0].error_code
        if error not in (OK, UNKNOWN_TOPIC):
            raise Violation(f"{name} was not deleted: error {error}")
        self.topics.passing.pop(name, None)
        self.uncertain.discard(name)

    def topic_configs(self, name: str) -> dict[str, str | None]:
        rows = TOPIC_CONFIGS if name.startswith("kept") else TOPIC_CONFIGS | RETENTION
        chosen = self.source.sample(sorted(rows), self.source.randrange(4))
        return {key: self.source.choice(rows[key]) for key in chosen}

    async def change_topic_config(self, connection: Connection) -> None:
        topic, _ = self.topics.choose(self.source)
        changes = self.topic_configs("kept" if topic.keeps_everything else topic.name)
        if changes:
            await self.alter(connection, TOPIC, topic.name, changes, may_fail=lambda: topic.is_going)

    # --- brokers ----------------------------------------------------------------------------------------------------

    async def change_broker_config(self, connection: Connection) -> None:
        name = self.source.choice(sorted(BROKER_CONFIGS))
        self.bounded.add(name)
        await self.alter(connection, BROKER, ALL_BROKERS, {name: self.source.choice(BROKER_CONFIGS[name])})
        if name.startswith("max."):
            await self.pause(1.0)
            await self.alter(connection, BROKER, ALL_BROKERS, {name: None})

    async def alter(
        self,
        connection: Connection,
        kind: int,
        name: str,
        changes: dict[str, str | None],
        may_fail: Any = None,
    ) -> None:
        rows = [
            {"name": key, "config_operation": DELETE if value is None else SET, "value": value}
            for key, value in changes.items()
        ]
        resource = {"resource_type": kind, "resource_name": name, "configs": rows}
        answer = await connection.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
        told = answer.responses[0]
        # Of a pool that two operators resize at once, one may ask for more than the double.
        if told.error_code != OK and not (may_fail and may_fail()) and "threads" not in str(rows):
            raise Violation(f"the configuration {changes} of {name!r} was refused: {told.error_message}")

    async def change_quota(self, connection: Connection) -> None:
        entity, quota = self.source.choice(QUOTED), self.source.choice(sorted(QUOTAS))
        value = QUOTAS[quota] if (entity, quota) not in self.quoted or self.happens(0.3) else None
        self.quoted.add((entity, quota))
        await self.set_quota(connection, entity, quota, value)

    async def set_quota(self, connection: Connection, entity: str | None, quota: str, value: float | None) -> None:
        operation = {"key": quota, "value": value or 0.0, "remove": value is None}
        entry = {"entity": [{"entity_type": "client-id", "entity_name": entity}], "ops": [operation]}
        answer = await connection.request(apis.ALTER_CLIENT_QUOTAS, 1, {"entries": [entry], "validate_only": False})
        told = answer.entries[0]
        if told.error_code != OK:
            raise Violation(f"the quota {quota} of {entity} was refused: {told.error_message}")
        if value is None:
            self.quoted.discard((entity, quota))

    # --- records ----------------------------------------------------------------------------------------------------

    async def delete_records(self, connection: Connection) -> None:
        topic, partition = self.topics.choose(self.source)
        if topic.keeps_everything:
            return
        history = topic.partitions[partition]
        before = history.bounds
        offset = self.source.choice((self.source.randint(*before), before.end, -1))
        row = {"partition_index": partition, "offset": offset}
        fields = {"topics": [{"name": topic.name, "partitions": [row]}], "timeout_ms": 30_000}
        answer = await connection.request(apis.DELETE_RECORDS, self.source.choice((1, 2)), fields)
        told = answer.topics[0].partitions[0]
        if topic.is_going:
            return
        if told.error_code != OK or told.low_watermark < max(offset, before.start):
            raise Violation(f"{history.label}: DeleteRecords to {offset} was answered with {told}")
        history.saw_bounds(before, told.low_watermark, max(before.end, told.low_watermark))

    async def look_around(self, connection: Connection) -> None:
        """Offsets and metadata, which must agree with what is known."""
        topic, partition = self.topics.choose(self.source)
        history = topic.partitions[partition]
        before = history.bounds
        told = []
        for timestamp in (EARLIEST, LATEST):
            row = {"partition_index": partition, "timestamp": timestamp}
            fields = {"replica_id": -1, "topics": [{"name": topic.name, "partitions": [row]}]}
            answer = await connection.request(apis.LIST_OFFSETS, self.source.choice((1, 4, 7)), fields)
            told.append(answer.topics[0].partitions[0])
        named = await connection.request(apis.METADATA, 12, {"topics": [{"name": topic.name}]})
        if topic.is_going:
            return
        if any(row.error_code for row in told) or bytes(named.topics[0].topic_id) != topic.id:
            raise Violation(f"{history.label}: {told}, {named.topics[0]}")
        history.saw_bounds(before, told[0].offset, told[1].offset)


async def create_topic(
    connection: Connection, tag: int, name: str, partitions: int, configs: dict[str, str | None]
) -> Topic:
    rows = [{"name": key, "value": value} for key, value in configs.items()]
    asked = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": rows}
    answer = await connection.request(apis.CREATE_TOPICS, 7, {"topics": [asked]})
    told = answer.topics[0]
    if told.error_code != OK:
        raise Violation(f"{name} was not created: error {told.error_code}, {told.error_message}")
    return Topic(name, tag, bytes(told.topic_id), partitions, keeps_everything=name.startswith("kept"))
