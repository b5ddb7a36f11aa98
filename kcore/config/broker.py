"""BrokerConfig: the typed configuration of one broker: its properties, with Kafka's defaults for the rest.

A single broker with the embedded metadata store needs no configuration: `EMBEDDED_DEFAULTS` are defaults for one broker
where Kafka's do not fit. `warnings` collects harmless problems of the properties, each once. The broker logs them when
it starts.

Two layers over the properties can change at run time (`update_dynamic`). Concurrency: any thread may read at any time
and gets the newest values, since the dictionary of values is replaced and never modified. Only the publisher of
metadata makes changes, one at a time.
"""

from __future__ import annotations

from kcore.config import network_keys
from kcore.config.broker_keys import BROKER_KEYS
from kcore.config.broker_rules import check_values
from kcore.config.definition import ConfigException
from kcore.config.dynamic_layers import DynamicLayers, Subscriptions, changed_names
from kcore.config.listener_names import LISTENER_BOUNDS, LISTENER_PREFIX, is_listener_bound
from kcore.config.listeners import Listeners
from kcore.config.typed_config import TypedConfig
from kcore.logger import get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kcore.config.definition import ConfigValue

LOG = get_logger("kcore.config.broker")

# With one broker nothing can be replicated, and rebalances need not wait for members on other machines.
EMBEDDED_DEFAULTS: dict[str, ConfigValue] = {
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
}


# What fails with one broker if one of these is larger than 1.
REPLICATION_FACTORS = {
    "default.replication.factor": "topics without a replication factor of their own cannot be created",
    "offsets.topic.replication.factor": "__consumer_offsets cannot be created, and consumer groups need it",
    "transaction.state.log.replication.factor": "__transaction_state cannot be created, and transactions need it",
}

UNKNOWN_KEYS = "kcli.config.unknown.keys"
ERROR, WARN = "error", "warn"
UNKNOWN_NAME_REMEDY = f"`kcli configs docs` lists all names, and {UNKNOWN_KEYS}={WARN} ignores unknown ones"


class BrokerConfig(TypedConfig):
    """Typed access by Kafka's names: `config["log.segment.bytes"]`. Invalid values raise ConfigException at once."""

    __slots__ = ("_static", "_subscriptions", "_values", "dynamic", "listeners", "properties", "unknown", "warnings")

    listeners: Listeners

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = {name: text for name, text in properties.items() if name in BROKER_KEYS}
        self.unknown = {name: text for name, text in properties.items() if name not in BROKER_KEYS}
        self.warnings: list[str] = []
        self._drop_stock_socket_buffers()
        self._static: dict[str, ConfigValue] = self._parse_properties()
        self._values = self._static
        self.dynamic = DynamicLayers(BROKER_KEYS)
        self._subscriptions = Subscriptions()
        self._check_ids()
        self._check_directories()
        check_values(self.__getitem__)
        self._note_unused_settings()
        self.listeners = Listeners(self)
        for endpoint in self.listeners.endpoints:
            for name in LISTENER_BOUNDS:
                self.number_of_listener(endpoint.name, name, 0)

    def update_dynamic(self, cluster: Mapping[str, str], own: Mapping[str, str]) -> None:
        """Replaces the layers of all brokers and of this broker, and calls the subscribers of changed names.

        Invalid values are logged and ignored. Exceptions of subscribers are logged; the others are still called.
        """
        dynamic = DynamicLayers(BROKER_KEYS, cluster, own)
        for complaint in dynamic.rejected:
            LOG.error("%s. It is ignored", complaint)
        before = self._values
        self.dynamic = dynamic
        self._values = after = dynamic.over(self._static)
        changed = changed_names(before, after)
        if changed:
            LOG.info("Changed at run time: %s", ", ".join(sorted(changed)))
            for failure in self._subscriptions.tell(changed):
                LOG.error("Could not apply a changed configuration", cause=failure)

    def with_dynamic(self, cluster: Mapping[str, str], own: Mapping[str, str]) -> dict[str, ConfigValue]:
        """The values with other dynamic layers, without names that only have a default."""
        return DynamicLayers(BROKER_KEYS, cluster, own).over(self._static)

    def on_change(self, names: Iterable[str], callback: Callable[[], None]) -> None:
        """Calls `callback` after the value of one of these names changed at run time, on the changing thread."""
        self._subscriptions.add(names, callback)

    def __getitem__(self, name: str) -> ConfigValue:
        values = self._values
        if name in values:
            return values[name]
        return self.default(name)

    def __contains__(self, name: object) -> bool:
        return name in BROKER_KEYS

    def __iter__(self) -> Iterator[str]:
        return iter(BROKER_KEYS)

    def default(self, name: str) -> ConfigValue:
        """The default of a key: Kafka's, or that of a single broker."""
        if name in EMBEDDED_DEFAULTS and self["metadata.store"] == "embedded":
            return EMBEDDED_DEFAULTS[name]
        return BROKER_KEYS[name].default

    def is_set(self, name: str) -> bool:
        """Whether a key has more than its default."""
        return name in self._values

    def take_broker_id(self, broker_id: int) -> None:
        """Sets both names of the broker's id, which need not be configured."""
        self._static = {**self._static, "broker.id": broker_id, "node.id": broker_id}
        self._values = self.dynamic.over(self._static)

    def is_static(self, name: str) -> bool:
        """Whether the properties set a key."""
        return name in self._static

    def without_dynamic(self, name: str) -> ConfigValue:
        """The value of a key without the dynamic layers."""
        return self._static[name] if name in self._static else self.default(name)

    def number_of_listener(self, listener: str, name: str, default: int) -> int:
        """The value of `listener.name.LISTENER.NAME`, dynamic or of the properties. ConfigException if invalid."""
        prefixed = f"{LISTENER_PREFIX}{listener.lower()}.{name}"
        for texts in (self.dynamic.own_texts, self.dynamic.cluster_texts, self.unknown):
            if prefixed in texts:
                try:
                    value = BROKER_KEYS[name].parse(texts[prefixed])
                except ConfigException as error:
                    raise ConfigException(str(error), prefixed) from None
                assert isinstance(value, int), name
                return value
        return default

    @property
    def broker_id(self) -> int:
        """`node.id` or `broker.id`; -1 if neither is set."""
        return self.number("node.id") if self.is_set("node.id") else self.number("broker.id")

    @property
    def log_directories(self) -> tuple[str, ...]:
        """`log.dirs`, or else `log.dir`, which may list several too, as in Kafka."""
        return self.texts("log.dirs") or self.texts("log.dir")

    @property
    def metadata_directory(self) -> str:
        """The directory of the embedded metadata store."""
        return self.text("metadata.log.dir") or self.log_directories[0]

    def _parse_properties(self) -> dict[str, ConfigValue]:
        """The typed properties. ConfigException with all invalid values and unknown names."""
        values: dict[str, ConfigValue] = {}
        errors: list[ConfigException] = []
        for name, text in self.properties.items():
            try:
                values[name] = BROKER_KEYS[name].parse(text)
            except ConfigException as error:
                errors.append(error)
        errors += self._judge_unknown(values)
        if errors:
            raise ConfigException.joined(errors)
        return values

    def _judge_unknown(self, values: Mapping[str, ConfigValue]) -> list[ConfigException]:
        """Adds warnings for unknown names. Returns the errors among them."""
        undefined = sorted(name for name in self.unknown if not is_listener_bound(name))
        if not undefined:
            return []
        from kcore.config.definition import nearest_name
        from kcore.config.foreign_names import remark, unknown_name

        refuses = values.get(UNKNOWN_KEYS, BROKER_KEYS[UNKNOWN_KEYS].default) == ERROR
        errors = []
        for name in undefined:
            warning = remark(name)
            if warning is None:
                error = unknown_name(name, BROKER_KEYS, UNKNOWN_NAME_REMEDY)
                errors.append(error)
                near = nearest_name(name, BROKER_KEYS)
                warning = f"unknown configuration {name} is ignored" + (f". Did you mean {near}?" if near else "")
            self.warnings.append(warning)
        return errors if refuses else []

    def _drop_stock_socket_buffers(self) -> None:
        stock = str(network_keys.KAFKA_SOCKET_BUFFER_BYTES)
        named = [name for name in network_keys.SOCKET_BUFFER_KEYS if self.properties.get(name, "").strip() == stock]
        for name in named:
            del self.properties[name]
        if named:
            verb = "counts" if len(named) == 1 else "count"
            self.warnings.append(
                f"{' and '.join(named)} of {stock}, as in Kafka's stock files, {verb} as not set: "
                "the kernel sizes socket buffers better by itself"
            )

    def _check_ids(self) -> None:
        broker_id, node_id = self._static.get("broker.id"), self._static.get("node.id")
        if None not in (broker_id, node_id) and broker_id != node_id:
            raise ConfigException(
                f"broker.id is {broker_id} and node.id is {node_id}: they must be equal. Remove one",
                "broker.id",
                "node.id",
            )
        reserved = self.number("reserved.broker.max.id")
        if self.flag("broker.id.generation.enable") and not self.is_set("node.id") and self.broker_id > reserved:
            raise ConfigException(
                "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id, "
                f"{reserved}",
                "broker.id",
                "reserved.broker.max.id",
            )
        if self.broker_id < -1:
            raise ConfigException(
                f"Invalid value {self.broker_id} for configuration broker.id: Value must be at least 0",
                "broker.id",
                "node.id",
            )

    def _check_directories(self) -> None:
        directories = self.log_directories
        if not directories:
            raise ConfigException(
                "At least one log directory must be defined via log.dirs or log.dir.", "log.dirs", "log.dir"
            )
        if len(set(directories)) != len(directories):
            raise ConfigException(
                f"log.dirs contains a directory twice: {','.join(directories)}. Remove one", "log.dirs", "log.dir"
            )

    def _note_unused_settings(self) -> None:
        self.warnings += [
            f"{name} has no effect in this version"
            for name in self._static
            if not BROKER_KEYS[name].is_used and self[name] != self.default(name)
        ]
        if "compact" in self.texts("log.cleanup.policy"):
            self.warnings.append(
                "log.cleanup.policy contains compact, but logs are not compacted in this version. With compact alone, "
                "all records of a topic are kept"
            )
        self.warnings += [
            f"{name}={self.number(name)} cannot be reached, because this version has one broker: {consequence}. "
            "Set it to 1"
            for name, consequence in REPLICATION_FACTORS.items()
            if self.number(name) > 1
        ]
        if self["metadata.store"] != "embedded":
            raise ConfigException(
                "metadata.store=zookeeper is not available in this version. Remove it", "metadata.store"
            )
        if self.is_set("zookeeper.connect"):
            self.warnings.append("zookeeper.connect is ignored: metadata.store is embedded")
        if self.is_set("controller.quorum.voters") or self.is_set("controller.quorum.bootstrap.servers"):
            self.warnings.append("controller.quorum.* is ignored: this broker is the controller, without a Raft quorum")
        if self["process.roles"] == ("controller",):
            raise ConfigException(
                "process.roles=controller is not supported. Use process.roles=broker,controller", "process.roles"
            )
        for name in ("authorizer.class.name", "create.topic.policy.class.name", "alter.config.policy.class.name"):
            if self.is_set(name) and self.text(name):
                raise ConfigException(f"{name} is a Java class, which kcli cannot load. Remove it", name)
