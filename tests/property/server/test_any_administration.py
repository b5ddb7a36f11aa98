"""Administrative requests with anything in their fields: each is answered, none as a failure that nobody foresaw.

Names are often those of topics that exist, numbers often small, so that requests get past the first check. What the
broker did with a request must leave it able to serve the next.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.message import Message
from kcore.protocol.notation import Field
from kcore.server.apis import BY_KEY
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.protocol.samples import FLAVOURS, Sampler

UNKNOWN_SERVER_ERROR = -1
TOPICS = ("first", "second", "third")
SEEDS = range(60)
ADMINISTRATION = (
    apis.LIST_OFFSETS,
    apis.CREATE_TOPICS,
    apis.DELETE_TOPICS,
    apis.DELETE_RECORDS,
    apis.DESCRIBE_LOG_DIRS,
    apis.CREATE_PARTITIONS,
    apis.ELECT_LEADERS,
    apis.ALTER_PARTITION_REASSIGNMENTS,
    apis.LIST_PARTITION_REASSIGNMENTS,
    apis.UPDATE_FEATURES,
    apis.DESCRIBE_CLUSTER,
    apis.DESCRIBE_PRODUCERS,
    apis.DESCRIBE_TOPIC_PARTITIONS,
)


class LikelySampler(Sampler):
    """Half of the strings name topics or features, half of the numbers are small."""

    def value(self, field: Field, version: int, flexible: bool) -> Any:
        if field.element == "string" and self.random.random() < 0.5:
            return self.random.choice((*TOPICS, "compact", "cleanup.policy", "group.version", ""))
        return super().value(field, version, flexible)

    def integer(self, field: Field) -> int:
        if self.random.random() < 0.5:
            return self.random.choice((-1, 0, 1, 2))
        return super().integer(field)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker in this process."""
    directory: Path = tmp_path_factory.mktemp("anything")
    broker = Broker(BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory)}))
    broker.startup()
    yield broker
    broker.shutdown()


def error_codes(value: Any) -> Iterator[int]:
    """Every error code in a response, however deep."""
    if isinstance(value, Message):
        for field in value._struct.fields:
            found = getattr(value, field.name)
            if field.name == "error_code":
                yield found
            else:
                yield from error_codes(found)
    elif isinstance(value, list):
        for item in value:
            yield from error_codes(item)


@pytest.mark.parametrize("api", ADMINISTRATION, ids=lambda api: api.name)
def test_an_error_is_never_a_surprise(broker: Broker, api: Api) -> None:
    entry = BY_KEY[api.key]
    port = broker.bound_listeners[0].port
    for seed in SEEDS:
        choice = random.Random(f"{api.name} {seed}")
        version = choice.randint(entry.min_version, entry.max_version)
        sampler = LikelySampler(choice.choice(FLAVOURS), f"{api.name} {seed}")
        fields = sampler.struct(api.request.struct, version, version >= api.first_flexible)
        with RawClient(port) as client:
            for name in TOPICS:
                topic = {"name": name, "num_partitions": 2, "replication_factor": 1}
                client.request(apis.CREATE_TOPICS, 7, {"topics": [topic]})
            response = client.request(api, version, fields)
            assert UNKNOWN_SERVER_ERROR not in set(error_codes(response)), f"seed {seed}: {fields}"


def test_the_broker_serves_on(broker: Broker) -> None:
    with RawClient(broker.bound_listeners[0].port) as client:
        client.create_topic("afterwards")
        response = client.request(apis.METADATA, 12, {"topics": [{"name": "afterwards"}]})
        assert [topic.error_code for topic in response.topics] == [0]
