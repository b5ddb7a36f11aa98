"""ClientConfig and its subclasses: the typed configuration of one client, with Kafka's defaults.

    ProducerConfig({"bootstrap.servers": "localhost:9092", "linger.ms": 5})
    ProducerConfig(bootstrap_servers="localhost:9092", linger_ms=5)

Values are strings, as in a properties file, or Python values: numbers, booleans, lists. Where Kafka has the name of a
Java class (serializers, partitioners, interceptors), pass the object or function itself. An invalid value raises
ConfigException, which names the configuration, the rule and the remedy. Harmless problems are in `warnings`, one entry
each, for the code that creates the client to show.

Concurrency: immutable after creation; any thread may read it.
Source: ConfigDef, AbstractConfig, CommonClientConfigs, ProducerConfig, ConsumerConfig, AdminClientConfig of Kafka 4.
"""

from __future__ import annotations

from itertools import count

from kcore.client.config import admin_keys, connection_keys, consumer_keys, producer_keys, security_keys
from kcore.client.config.admin_rules import settle_admin
from kcore.client.config.connection_rules import settle_connections
from kcore.client.config.consumer_rules import settle_consumer
from kcore.client.config.given_value import typed_value
from kcore.client.config.producer_rules import settle_producer
from kcore.config.definition import HIDDEN_VALUE, ConfigException, ConfigKey, index_by_name, nearest_name
from kcore.config.typed_config import TypedConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Self

# Clients without a client.id are numbered, so that brokers' logs and metrics can distinguish them.
_NUMBERS = count(1)


class ClientConfig(TypedConfig):
    """Access values by Kafka's names: `config["batch.size"]`. The methods return values of a certain type."""

    KIND = "client"
    KEYS: Mapping[str, ConfigKey] = {}

    __slots__ = ("_given", "_values", "unknown", "warnings")

    def __init__(self, properties: Mapping[str, Any] | None = None, **keywords: Any) -> None:
        given = dict(properties or {})
        for keyword, value in keywords.items():
            name = keyword.replace("_", ".")
            if name not in self.KEYS:
                raise ConfigException(f"{keyword} is not a configuration of the {self.KIND}{self._hint(name)}")
            if name in given:
                raise ConfigException(f"{name} is given twice, by its name and as {keyword}. Remove one")
            given[name] = value
        self.unknown = {name: value for name, value in given.items() if name not in self.KEYS}
        self.warnings = [
            f"{name} is ignored: it is not a configuration of the {self.KIND}{self._hint(name)}"
            for name in sorted(self.unknown)
        ]
        self._given = {name: typed_value(self.KEYS[name], given[name]) for name in given if name in self.KEYS}
        self._values: dict[str, Any] = {}
        self._note_unused_settings()
        settle_connections(self)
        self._settle()

    @classmethod
    def of(cls, config: ClientConfig | Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> Self:
        """Return the configuration from a client's arguments: a finished one, or properties and keywords."""
        if not isinstance(config, ClientConfig):
            return cls(config, **keywords)
        if not isinstance(config, cls):
            raise ConfigException(
                f"a {cls.KIND} cannot use the configuration of a {config.KIND}. Pass a {cls.__name__}"
            )
        if keywords:
            raise ConfigException(
                f"{', '.join(keywords)}: no keywords may follow a finished configuration. Add them to the configuration"
            )
        return config

    def _settle(self) -> None:
        """Check rules over several values, and compute values that depend on others."""

    def __getitem__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        return self._given[name] if name in self._given else self.KEYS[name].default

    def __iter__(self) -> Iterator[str]:
        return iter(self.KEYS)

    def __len__(self) -> int:
        return len(self.KEYS)

    def is_set(self, name: str) -> bool:
        """Return whether a configuration was given, even with its default value."""
        return name in self._given

    def settle(self, name: str, value: Any) -> None:
        """Set a computed value. Only for the rules, during creation."""
        self._values[name] = value

    def objects(self, name: str) -> tuple[Any, ...]:
        """Return the value of a key that lists classes. Each item is a name or an object."""
        value = self[name]
        assert isinstance(value, tuple), name
        return value

    def shown(self) -> dict[str, str]:
        """Return the given values for logs. Sensitive values are hidden."""
        return {
            name: HIDDEN_VALUE if self.KEYS[name].is_sensitive else str(value) for name, value in self._given.items()
        }

    def _note_unused_settings(self) -> None:
        self.warnings += [
            f"{name} has no effect in this version"
            for name, value in self._given.items()
            if not self.KEYS[name].is_used and value != self.KEYS[name].default
        ]

    def _hint(self, name: str) -> str:
        dotted = name.replace("_", ".")
        near = dotted if dotted in self.KEYS else nearest_name(dotted, self.KEYS)
        return f"; did you mean {near}?" if near is not None else ""


class ProducerConfig(ClientConfig):
    """Configuration of a producer."""

    KIND = "producer"
    KEYS = index_by_name(connection_keys.KEYS, security_keys.KEYS, producer_keys.KEYS)

    __slots__ = ()

    def _settle(self) -> None:
        settle_producer(self)
        if not self["client.id"]:
            self.settle("client.id", f"producer-{self['transactional.id'] or next(_NUMBERS)}")


class ConsumerConfig(ClientConfig):
    """Configuration of a consumer."""

    KIND = "consumer"
    KEYS = index_by_name(connection_keys.KEYS, security_keys.KEYS, consumer_keys.KEYS)

    __slots__ = ()

    def _settle(self) -> None:
        settle_consumer(self)
        if not self["client.id"]:
            parts = [self["group.id"], self["group.instance.id"] or str(next(_NUMBERS))]
            self.settle("client.id", "-".join(["consumer", *(part for part in parts if part)]))


class AdminConfig(ClientConfig):
    """Configuration of an admin client."""

    KIND = "admin client"
    KEYS = index_by_name(connection_keys.KEYS, security_keys.KEYS, admin_keys.KEYS)

    __slots__ = ()

    def _settle(self) -> None:
        settle_admin(self)
        if not self["client.id"]:
            self.settle("client.id", f"adminclient-{next(_NUMBERS)}")
