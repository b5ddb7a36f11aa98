"""The common part of AlterConfigs and IncrementalAlterConfigs: finds the resource, checks the change and applies it.

Each resource succeeds or fails independently. If a request names a resource twice, both entries fail. Source of the
rules, their order and the messages: ConfigAdminManager and ConfigurationControlManager of Kafka 3.9.
"""

from __future__ import annotations

from kcore import errors
from kcore.config.broker_keys import BROKER_KEYS
from kcore.config.client_metrics import UnknownClientMetricsConfig, validate_subscription
from kcore.config.definition import INT, INTEGER_BITS, LIST, ConfigException, parse_decimal
from kcore.config.dynamic_validation import base_key, validate_broker_overrides
from kcore.config.group_configs import validate_group_overrides
from kcore.config.topic import scaled_default
from kcore.config.topic_keys import TOPIC_KEYS
from kcore.controller.config_operations import OPERATION_NAMES, apply_operations
from kcore.controller.topic_name import validate_topic_name
from kcore.logger import ERROR, WARN, get_logger
from kcore.metadata.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from kcore.server.broker_loggers import alter_loggers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from kcore.controller.config_operations import ConfigOperation
    from kcore.server.broker import Broker
    from kcore.server.request_context import Fields

    Change = Callable[[Mapping[str, str]], Mapping[str, str]]

BROKER_LOGGER_RESOURCE = 8
LOG = get_logger("kcore.server.configs")
UNUSED = "Broker configurations without effect in this version"
MAX_LOGGED = 500  # characters


def alter_resources(resources: Iterable[Any], alter: Callable[[Any], None]) -> list[Fields]:
    """Runs `alter` on each resource of a request. Returns one response row per resource, with its error."""
    listed = list(resources)
    names = [(resource.resource_type, resource.resource_name) for resource in listed]
    seen: dict[tuple[int, str], int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    rows = []
    for resource, name in zip(listed, names, strict=True):
        error: errors.KafkaError | None = None
        try:
            if seen[name] > 1:
                raise errors.InvalidRequestError("Each resource must appear at most once.")
            alter(resource)
        except errors.KafkaError as failure:
            error = failure
        except Exception as failure:
            cause = f"altering a configuration failed with {type(failure).__name__}"
            message = "Altering the configuration of resource %s failed"
            LOG.limited(ERROR, "any", cause, message, name, error=failure)
            error = errors.UnknownServerError()
        rows.append(row(resource, error))
    return rows


def row(resource: Any, error: errors.KafkaError | None) -> Fields:
    """The response row of one resource."""
    return {
        "error_code": errors.NONE if error is None else error.code,
        "error_message": None if error is None else str(error),
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
    }


def replace_overrides(broker: Broker, resource: Any, overrides: Mapping[str, str], validate_only: bool) -> None:
    """Replaces all overrides of a resource."""
    _alter(broker, resource.resource_type, resource.resource_name, lambda _: overrides, validate_only)


def change_overrides(broker: Broker, resource: Any, operations: Sequence[ConfigOperation], validate_only: bool) -> None:
    """Applies incremental operations to the overrides of a resource, or to the levels of a broker's loggers."""
    resource_type, name = resource.resource_type, resource.resource_name
    if resource_type == BROKER_LOGGER_RESOURCE:
        _check_node_id(broker, name, "Unexpected node id. Expected {own}, but received {name}")
        alter_loggers(operations, validate_only)
        return

    def change(current: Mapping[str, str]) -> Mapping[str, str]:
        return apply_operations(
            current, operations, lambda operation: _list_items(broker, resource_type, current, operation)
        )

    _alter(broker, resource_type, name, change, validate_only)


def _alter(broker: Broker, resource_type: int, name: str, change: Change, validate_only: bool) -> None:
    if resource_type == TOPIC_RESOURCE:
        if not name:
            raise errors.InvalidRequestError("Default topic resources are not allowed.")
        validate_topic_name(name)
        checked = change
    elif resource_type == BROKER_RESOURCE:
        if name:
            _check_node_id(broker, name, "Unexpected broker id, expected {own}, but received {name}")
            name = str(broker.broker_id)
        checked = _checked_for_brokers(broker, change, per_broker=bool(name))
    elif resource_type == CLIENT_METRICS_RESOURCE:
        if not name:
            raise errors.InvalidRequestError("Subscription name can't be empty")
        checked = _checked_for_client_metrics(change)
    elif resource_type == GROUP_RESOURCE:
        if not name:
            raise errors.InvalidRequestError("Default group resources are not allowed.")
        checked = _checked_for_groups(broker, change)
    else:
        raise errors.InvalidRequestError(f"Unknown resource type {resource_type}")
    broker.controller.change_configs(resource_type, name, checked, validate_only)


def _check_node_id(broker: Broker, name: str, complaint: str) -> None:
    """Raises InvalidRequestError unless `name` is this broker's id: a broker alters only its own configuration."""
    node_id = parse_decimal(name, INTEGER_BITS[INT])
    if node_id is None:
        raise errors.InvalidRequestError(f"Node id must be an integer, but it is: {name}")
    if node_id != broker.broker_id:
        raise errors.InvalidRequestError(complaint.format(own=broker.broker_id, name=name))


def _checked_for_brokers(broker: Broker, change: Change, *, per_broker: bool) -> Change:
    def checked(current: Mapping[str, str]) -> Mapping[str, str]:
        overrides = change(current)
        try:
            validate_broker_overrides(broker.config, overrides, per_broker=per_broker)
        except ConfigException as error:
            raise errors.InvalidRequestError(str(error)) from error
        unused = [name for name in overrides if name not in current and not is_used(name)]
        if unused:
            LOG.limited(WARN, "any", UNUSED, "%s: %s", UNUSED, ", ".join(unused)[:MAX_LOGGED])
        return overrides

    return checked


def is_used(name: str) -> bool:
    """Whether a broker configuration has an effect in this version."""
    key = base_key(name)
    return name in BROKER_KEYS and key is not None and key.is_used


def _checked_for_client_metrics(change: Change) -> Change:
    def checked(current: Mapping[str, str]) -> Mapping[str, str]:
        overrides = change(current)
        try:
            validate_subscription(overrides)
        except UnknownClientMetricsConfig as error:
            raise errors.InvalidRequestError(str(error)) from error
        except ConfigException as error:
            raise errors.InvalidConfigError(str(error)) from error
        return overrides

    return checked


def _checked_for_groups(broker: Broker, change: Change) -> Change:
    def checked(current: Mapping[str, str]) -> Mapping[str, str]:
        overrides = change(current)
        try:
            validate_group_overrides(broker.config, overrides)
        except ConfigException as error:
            raise errors.InvalidConfigError(str(error)) from error
        return overrides

    return checked


def _list_items(
    broker: Broker, resource_type: int, current: Mapping[str, str], operation: ConfigOperation
) -> tuple[str, ...]:
    """The current items of a list configuration, for APPEND and SUBTRACT.

    They come from the resource's override. Without one they come from this broker's properties or the default; as in
    Kafka, other dynamic configurations are ignored. Raises InvalidConfigError if the configuration is not a list.
    """
    name = operation.name
    key = TOPIC_KEYS.get(name) if resource_type == TOPIC_RESOURCE else None
    if resource_type == BROKER_RESOURCE:
        key = base_key(name)
    if key is None or key.type != LIST:
        kind = OPERATION_NAMES[operation.operation]
        if resource_type == BROKER_RESOURCE:
            raise errors.InvalidConfigError(f"Config value {kind.lower()} is not allowed for config key: {name}")
        raise errors.InvalidConfigError(f"Can't {kind} to key {name} because its type is not LIST.")
    if name in current:
        value = key.parse(current[name])
    elif resource_type == TOPIC_RESOURCE:
        value = scaled_default(broker.config.without_dynamic, broker.config.is_static, name)
    else:
        value = broker.config.without_dynamic(key.name)
    assert isinstance(value, tuple)
    return value
