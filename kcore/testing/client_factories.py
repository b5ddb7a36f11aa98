"""Creates producers and consumers of any installed client library, connected to a test's broker.

The fixtures `kcli_producer` and `kcli_consumer` return `ProducerFactory` and `ConsumerFactory`. A client's own
configuration is passed on unchanged, as keywords (`linger_ms` becomes `linger.ms` for confluent-kafka) or as a mapping.
The fixture closes the clients, except those of aiokafka: these belong to an event loop, and the test starts and stops
them (`async with`).
"""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

CONFLUENT, KAFKA_PYTHON, AIOKAFKA = "confluent-kafka", "kafka-python", "aiokafka"
# Distribution -> module to import, in order of preference.
MODULES = {CONFLUENT: "confluent_kafka", KAFKA_PYTHON: "kafka", AIOKAFKA: "aiokafka"}
FLUSH_TIMEOUT_S = 10.0


class ClientMissing(ImportError):
    """The requested client library is not installed, or none is. The message names what to install."""


def load_client(library: str) -> tuple[str, Any]:
    """Return a library's name and module. If `library` is empty: the first one that is installed."""
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
    """Common part of both factories: the library, and closing of the created clients."""

    def __init__(self, bootstrap_servers: str, library: str = "") -> None:
        self.bootstrap_servers = bootstrap_servers
        self.library = library
        self._closers: list[Callable[[], object]] = []

    def close(self) -> None:
        """Close the clients that need no event loop, the last one first. Raises the first failure at the end."""
        failures: list[Exception] = []
        while self._closers:
            try:
                self._closers.pop()()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]


class ProducerFactory(ClientFactory):
    """Creates a producer when called."""

    def __call__(self, library: str = "", configuration: Mapping[str, Any] | None = None, **settings: Any) -> Any:
        """Return a confluent_kafka.Producer, kafka.KafkaProducer or aiokafka.AIOKafkaProducer (not started)."""
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
    """Creates a consumer of topics when called. It reads from the first record, in a consumer group of its own."""

    def __call__(
        self, *topics: str, library: str = "", configuration: Mapping[str, Any] | None = None, **settings: Any
    ) -> Any:
        """Return a confluent_kafka.Consumer, kafka.KafkaConsumer or aiokafka.AIOKafkaConsumer (not started)."""
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
    """Return librdkafka's configuration. Entries of the mapping, with librdkafka's names, take precedence."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return {"bootstrap.servers": bootstrap_servers, **named, **(configuration or {})}
