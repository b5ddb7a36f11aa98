"""The cluster as a client sees it, and as it is in the log directory: both must agree, before a restart and after."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcore import uuid
from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.message import Message
from tests.stress.connection import Connection
from tests.stress.partition_history import Violation

TOPIC, DYNAMIC_TOPIC_CONFIG = 2, 1
EARLIEST, LATEST = -2, -1


@dataclass(frozen=True)
class State:
    """`topics` are id and partitions by name; the others are sorted texts."""

    topics: dict[str, tuple[bytes, int]]
    configs: list[str]
    quotas: list[str]
    features: list[str]


class Observer:
    """Asks on a connection of its own."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def state(self) -> State:
        answer = await self.ask(apis.METADATA, 12, {"topics": None})
        topics = {row.name: (bytes(row.topic_id), len(row.partitions)) for row in answer.topics}
        for row in answer.topics:
            indexes = sorted(part.partition_index for part in row.partitions)
            if row.error_code or indexes != list(range(len(indexes))):
                raise Violation(f"the metadata of {row.name} is {row}")
        for name, (_, count) in topics.items():
            await self.check_bounds(name, count)
        asked = [{"resource_type": TOPIC, "resource_name": name, "configuration_keys": None} for name in sorted(topics)]
        described = await self.ask(apis.DESCRIBE_CONFIGS, 4, {"resources": asked})
        configs = [
            f"{result.resource_name}: {config.name}={config.value}"
            for result in described.results
            for config in result.configs
            if config.config_source == DYNAMIC_TOPIC_CONFIG
        ]
        quotas = await self.ask(apis.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [], "strict": False})
        features = await self.ask(apis.API_VERSIONS, 3, {})
        return State(
            topics,
            sorted(configs),
            sorted(map(str, quotas.entries or ())),
            sorted(map(str, features.finalized_features)),
        )

    async def check_bounds(self, topic: str, count: int) -> None:
        """Every partition has a leader that knows where its log begins and ends."""
        bounds = []
        for timestamp in (EARLIEST, LATEST):
            rows = [{"partition_index": index, "timestamp": timestamp} for index in range(count)]
            fields = {"replica_id": -1, "topics": [{"name": topic, "partitions": rows}]}
            bounds.append((await self.ask(apis.LIST_OFFSETS, 7, fields)).topics[0].partitions)
        for start, end in zip(*bounds, strict=True):
            if start.error_code or end.error_code or not 0 <= start.offset <= end.offset:
                raise Violation(f"{topic}-{start.partition_index} is from {start} to {end}")

    async def ask(self, api: Api, version: int, fields: dict[str, Any]) -> Message:
        return await self.connection.request(api, version, fields)


def check_directories(data: Path, topics: dict[str, tuple[bytes, int]]) -> None:
    """Each partition has its directory, of its topic's id, and no other directory is a partition's."""
    expected = {f"{name}-{index}": topic_id for name, (topic_id, count) in topics.items() for index in range(count)}
    found = {path.name: path for path in data.iterdir() if path.is_dir() and not path.name.endswith("-delete")}
    if found.keys() != expected.keys():
        raise Violation(
            f"without a directory: {sorted(expected.keys() - found.keys())}; "
            f"without a partition: {sorted(found.keys() - expected.keys())}"
        )
    for name, path in found.items():
        if f"topic_id: {uuid.to_text(expected[name])}" not in (path / "partition.metadata").read_text():
            raise Violation(f"{path} is not of topic id {uuid.to_text(expected[name])}")
