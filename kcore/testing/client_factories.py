"""Producers and consumers of whichever client library the tests' environment has, connected to a test's broker.

`ProducerFactory` and `ConsumerFactory` are what the fixtures `kcli_producer` and `kcli_consumer` give. A client's own
configuration is passed on as it is: as keywords (`linger_ms` becomes `linger.ms` for confluent-kafka), or as a mapping.
Clients that are closed by a plain call are closed by the fixture; those of aiokafka live in an event loop and
are the test's to start and stop (`async with`).
"""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

CONFLUENT, KAFKA_PYTHON, AIOKAFKA = "confluent-kafka", "kafka-python", "aiokafka"
# Distribution -> the module to import; in the order in which one is chosen.
MODULES = {CONFLUENT: "confluent_kafka", KAFKA_PYTHON: "kafka", AIOKAFKA: "aiokafka"}
FLUSH_TIMEOUT_S = 10.0


class ClientMissing(ImportError):
    """The client library that was asked for is not installed, or none is; the text says what to install."""


def load_client(library: str) -> tuple[str, Any]:
    """A library's name and module; the first that is installed when `library` is empty."""
    if library and library not in MODULES:
        raise ValueError(f"client library {library!r}: must be one of {', '.join(MODULES)}")
    for name in [library] if library else MODULES:
        try:
            return name, import_module(MODULES[name])
        except ModuleNotFoundError as error:
            if error.name != MODULES[name]:
                raise
    if library:
        raise ClientMissing(f"{library} is not installed: pip install {library}")
    raise ClientMissing(f"none of {', '.join(MODULES)} is installed: pip install {CONFLUENT}, or one of the others")


class ClientFactory:
    """What both have in common: the library, and the end of the clients made."""

    def __init__(self, bootstrap_servers: str, library: str = "") -> None:
        self.bootstrap_servers = bootstrap_servers
        self.library = library
        self._closers: list[Callable[[], object]] = []

    def close(self) -> None:
        """Closes the clients that can be closed by a plain call, last one first; the first failure is raised."""
        failures: list[Exception] = []
        while self._closers:
            try:
                self._closers.pop()()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]


class ProducerFactory(ClientFactory):
    """Called, makes a producer."""

    def __call__(self, library: str = "", configuration: Mapping[str, Any] | None = None, **settings: Any) -> Any:
        """A confluent_kafka.Producer, kafka.KafkaProducer or (not started) aiokafka.AIOKafkaProducer."""
        name, module = load_client(library or self.library)
        if name == CONFLUENT:
            producer = module.Producer(dotted(self.bootstrap_servers, configuration, settings))
            self._closers.append(lambda: producer.flush(FLUSH_TIMEOUT_S))
            return producer
        arguments = {"bootstrap_servers": self.bootstrap_servers, **(configuration or {}), **settings}
        if name == AIOKAFKA:
            return module.AIOKafkaProducer(**arguments)
        client = module.KafkaProducer(**arguments)
        self._closers.append(lambda: client.close(timeout=FLUSH_TIMEOUT_S))
        return client


class ConsumerFactory(ClientFactory):
    """Called with topics, makes a consumer of them that begins with their first record, in a group of its own."""

    def __call__(
        self, *topics: str, library: str = "", configuration: Mapping[str, Any] | None = None, **settings: Any
    ) -> Any:
        """A subscribed confluent_kafka.Consumer, kafka.KafkaConsumer or (not started) aiokafka.AIOKafkaConsumer."""
        name, module = load_client(library or self.library)
        settings = {"group_id": f"group-{os.urandom(6).hex()}", "auto_offset_reset": "earliest", **settings}
        if name == CONFLUENT:
            consumer = module.Consumer(dotted(self.bootstrap_servers, configuration, settings))
            self._closers.append(consumer.close)
            if topics:
                consumer.subscribe(list(topics))
            return consumer
        arguments = {"bootstrap_servers": self.bootstrap_servers, **settings, **(configuration or {})}
        if name == AIOKAFKA:
            return module.AIOKafkaConsumer(*topics, **arguments)
        client = module.KafkaConsumer(*topics, **arguments)
        self._closers.append(client.close)
        return client


def dotted(
    bootstrap_servers: str, configuration: Mapping[str, Any] | None, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """librdkafka's configuration. Entries of the mapping, with librdkafka's names, take precedence."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return {"bootstrap.servers": bootstrap_servers, **named, **(configuration or {})}
