"""Validates broker configurations that are set at run time (DynamicBrokerConfig, DynamicConfig of Kafka 3.9).

Unknown names are accepted, as in Kafka, where plugins read them. The prefix `listener.name.NAME.` sets a configuration
for one listener.
"""

from __future__ import annotations

from kcore.config.broker_keys import BROKER_KEYS
from kcore.config.broker_rules import check_values
from kcore.config.definition import LONG, LONG_MAX, PER_BROKER, READ_ONLY, ConfigException, ConfigKey, invalid
from kcore.config.listener_names import LISTENER_BOUNDS, LISTENER_PREFIX, is_listener_bound
from kcore.config.topic import scaled_default
from kcore.config.validators import at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.config.broker import BrokerConfig
    from kcore.config.definition import ConfigValue

TLS_PREFIX = "ssl."
# Cluster-wide configurations that can be set for one listener.
CLUSTER_LISTENER_KEYS = (*LISTENER_BOUNDS, "num.network.threads")
# One change may at most double or halve a pool, so that a typing error does no harm.
POOL_KEYS = ("num.io.threads", "num.network.threads", "background.threads", "num.recovery.threads.per.data.dir")
LISTENER_KEYS = ("listeners", "advertised.listeners", "listener.security.protocol.map")

# Configurations that can only be set at run time (QuotaConfig.brokerQuotaConfigs).
DYNAMIC_KEYS = {
    name: ConfigKey(name, LONG, LONG_MAX, at_least(0), is_used=False)
    for name in (
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
}


def base_key(name: str) -> ConfigKey | None:
    """The definition of a name, with or without a listener's prefix; None for an unknown name."""
    return BROKER_KEYS.get(base_name(name)) or DYNAMIC_KEYS.get(name)


def base_name(name: str) -> str:
    """A name without the prefix `listener.name.NAME.`."""
    if name.startswith(LISTENER_PREFIX):
        return name[len(LISTENER_PREFIX) :].partition(".")[2] or name
    return name


def validate_broker_overrides(config: BrokerConfig, texts: Mapping[str, str], *, per_broker: bool) -> None:
    """ConfigException for invalid overrides of this broker (`per_broker`) or of all brokers."""
    _refuse("Cannot update these configs dynamically", (name for name in texts if _is_read_only(name)))
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        (name for name in texts if _is_tls(name)),
    )
    for name, text in texts.items():
        key = base_key(name)
        if key is not None:
            key.parse(text)
    if not per_broker:
        _refuse(
            "Cannot update these configs at default cluster level, broker id must be specified",
            (name for name in texts if _is_per_broker(name)),
        )
    _check_together(config, texts, per_broker)


def _is_read_only(name: str) -> bool:
    key = BROKER_KEYS.get(name)
    return key is not None and key.mode == READ_ONLY


def _is_tls(name: str) -> bool:
    key = BROKER_KEYS.get(name) if name.startswith(TLS_PREFIX) else None
    return key is not None and key.mode == PER_BROKER


def _is_per_broker(name: str) -> bool:
    if name.startswith(LISTENER_PREFIX):
        return base_name(name) not in CLUSTER_LISTENER_KEYS
    key = BROKER_KEYS.get(name)
    return key is not None and key.mode == PER_BROKER


def _refuse(complaint: str, names: Iterable[str]) -> None:
    listed = ", ".join(sorted(names))
    if listed:
        raise ConfigException(f"{complaint}: Set({listed})")


def _check_together(config: BrokerConfig, texts: Mapping[str, str], per_broker: bool) -> None:
    """Checks the rules over several values with the values after the change."""
    cluster, own = (config.dynamic.cluster_texts, texts) if per_broker else (texts, config.dynamic.own_texts)
    values = config.with_dynamic(cluster, own)

    def read(name: str) -> ConfigValue:
        return values[name] if name in values else config.default(name)

    check_values(read)
    for name in POOL_KEYS:
        _check_pool_size(name, config.number(name), _number(read(name)))
    _check_cleaner_threads(config.number("log.cleaner.threads"), _number(read("log.cleaner.threads")))
    retention_ms = scaled_default(read, values.__contains__, "retention.ms")
    _check_local_retention("ms", _number(read("log.local.retention.ms")), _number(retention_ms))
    _check_local_retention("bytes", _number(read("log.local.retention.bytes")), _number(read("log.retention.bytes")))
    if read("max.connection.creation.rate") == 0:
        raise ConfigException("Invalid max.connection.creation.rate 0")
    for name, text in texts.items():
        bound = base_name(name)
        if is_listener_bound(name) and _number(BROKER_KEYS[bound].parse(text)) == 0:
            # Kafka accepts 0 for the whole broker: connections between brokers are still accepted then.
            raise ConfigException(f"Invalid {bound} 0")
    if read("metric.reporters") != config["metric.reporters"]:
        raise ConfigException("metric.reporters are Java classes, which kcli cannot load")
    for name in LISTENER_KEYS:
        if read(name) != config[name]:
            raise ConfigException(
                f"{name} cannot be changed at run time. Set it in the broker's properties and restart the broker"
            )


def _number(value: ConfigValue) -> int:
    assert isinstance(value, int)
    return value


def _check_pool_size(name: str, current: int, wanted: int) -> None:
    complaint = f"Dynamic thread count update validation failed for {name}={wanted}"
    if wanted < current // 2:
        raise ConfigException(f"{complaint}, value should be at least half the current value {current}")
    if wanted > current * 2:
        raise ConfigException(f"{complaint}, value should not be greater than double the current value {current}")


def _check_cleaner_threads(current: int, wanted: int) -> None:
    if wanted < 1:
        raise ConfigException("Log cleaner threads should be at least 1")
    if wanted < current // 2:
        raise ConfigException(f"Log cleaner threads cannot be reduced to less than half the current value {current}")
    if wanted > current * 2:
        raise ConfigException(
            f"Log cleaner threads cannot be increased to more than double the current value {current}"
        )


def _check_local_retention(unit: str, local: int, retention: int) -> None:
    """Local retention must not exceed the total retention; -1 is unlimited, -2 means the total retention."""
    name = f"log.local.retention.{unit}"
    if retention == -1 or local == -2:
        return
    if local == -1:
        raise invalid(name, local, f"Value must not be -1 as log.retention.{unit} value is set as {retention}.")
    if local > retention:
        raise invalid(name, local, f"Value must not be more than log.retention.{unit} property value: {retention}")
