"""Runs the steps against one broker, in order, and gives their results by name.

Apache Kafka acknowledges a change of metadata when its controller has committed it, and its broker follows a moment
later. After every step the run therefore waits for the broker: metadata is one log, so that a broker that shows a later
change has seen all before it. The change is a topic's configuration, twice, because the first of a batch is visible
before everything in the batch has taken effect.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kcore.protocol import apis
from tests.interop.admin_scenario.clients import (
    AiokafkaClient,
    Client,
    JavaClient,
    JavaProgram,
    TopicIds,
    WireClient,
    confluent_client,
    kafka_python_client,
)
from tests.interop.admin_scenario.plain import TIMEOUT_S, Normaliser
from tests.interop.admin_scenario.step import TOOLS, Step
from tests.raw_client import RawClient

# The configurations of client telemetry (KIP-714), under a name that no client asks for.
RESOURCE = {"resource_type": 16, "resource_name": "settling"}
SET = 0
ASK_AGAIN_S = 0.002


class Settling:
    """Waits until a broker shows what its controller has committed; see the module."""

    CONFIG = "interval.ms"

    def __init__(self, port: int) -> None:
        self.client = RawClient(port)
        self.number = 1_000_000

    def __call__(self) -> None:
        for _ in range(2):
            self.number += 1
            self._alter(str(self.number))
            self._wait_for(str(self.number))

    def _alter(self, value: str) -> None:
        config = {"name": self.CONFIG, "config_operation": SET, "value": value}
        fields = {"resources": [{**RESOURCE, "configs": [config]}]}
        answer = self.client.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, fields)
        assert answer.responses[0].error_code == 0, answer

    def _wait_for(self, value: str) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        fields = {"resources": [{**RESOURCE, "configuration_keys": [self.CONFIG]}]}
        while True:
            configs = self.client.request(apis.DESCRIBE_CONFIGS, 4, fields).results[0].configs
            if configs and configs[0].value == value:
                return
            assert time.monotonic() < deadline, "the broker does not follow its controller"
            time.sleep(ASK_AGAIN_S)

    def close(self) -> None:
        self.client.socket.close()


def run(
    steps: Iterable[Step], port: int, directory: Path, java: JavaProgram, scratch: Path, *, follows_later: bool
) -> dict[str, Any]:
    """`directory` is the broker's, `scratch` a file that steps may write; `follows_later`: it is Apache Kafka's."""
    server = f"127.0.0.1:{port}"
    topic_ids = TopicIds(port)
    java_client = JavaClient(java, server, topic_ids, scratch)
    clients: dict[str, Client] = {
        "confluent-kafka": confluent_client(server),
        "kafka-python": kafka_python_client(server),
        "aiokafka": AiokafkaClient(server),
        "wire": WireClient(port, topic_ids),
        "java": java_client,
        **dict.fromkeys(TOOLS, java_client),
    }
    normalise = Normaliser(port, str(directory), topic_ids.names)
    settle = Settling(port) if follows_later else None
    results = {}
    try:
        for step in steps:
            assert step.name not in results, f"two steps are called {step.name!r}"
            result = clients[step.client].run(step.call)
            if settle is not None:
                settle()
            topic_ids.look()
            results[step.name] = normalise(result)
    finally:
        if settle is not None:
            settle.close()
        for client in clients.values():
            client.close()
    return results
