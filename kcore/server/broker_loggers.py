"""Describes and changes the levels of this broker's loggers (KIP-412). Changes last until the process exits.

Source of the rules and messages: Log4jController and ConfigAdminManager of Kafka 3.9.
"""

from __future__ import annotations

from kcore import errors
from kcore.controller.config_operations import DELETE, OPERATION_NAMES, SET
from kcore.logger import LEVEL_NAMES, LEVELS, LOGGERS, ROOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

    from kcore.controller.config_operations import ConfigOperation

DYNAMIC_BROKER_LOGGER_CONFIG = 6


def describe_loggers(wanted: Collection[str] | None = None) -> list[dict[str, Any]]:
    """The effective level of every logger and of the root logger, sorted by name."""
    levels = {ROOT: LOGGERS.root_level, **{name: logger.level for name, logger in tuple(LOGGERS.by_name.items())}}
    return [
        {
            "name": name,
            "value": LEVEL_NAMES[levels[name]],
            "read_only": False,
            "config_source": DYNAMIC_BROKER_LOGGER_CONFIG,
            "is_sensitive": False,
            "synonyms": [],
            "config_type": 0,
            "documentation": "",
        }
        for name in sorted(levels)
        if not wanted or name in wanted
    ]


def alter_loggers(operations: Iterable[ConfigOperation], validate_only: bool) -> None:
    """Sets and removes levels. All operations are checked before the first one is applied.

    Raises InvalidRequestError or InvalidConfigError.
    """
    listed = list(operations)
    for operation in listed:
        _check(operation)
    if not validate_only:
        for operation in listed:
            level = None if operation.value is None else LEVELS[operation.value.upper()]
            LOGGERS.set_level(operation.name, level if operation.operation == SET else None)


def _check(operation: ConfigOperation) -> None:
    name = operation.name
    if operation.operation not in (SET, DELETE):
        kind = OPERATION_NAMES[operation.operation]
        raise errors.InvalidRequestError(f"{kind} operation is not allowed for the BROKER_LOGGER resource")
    if name != ROOT and name not in LOGGERS.by_name:
        raise errors.InvalidConfigError(f"Logger {name} does not exist!")
    if operation.operation == DELETE:
        if name == ROOT:
            raise errors.InvalidRequestError("Removing the log level of the root logger is not allowed")
        return
    assert operation.value is not None
    if operation.value.upper() not in LEVEL_NAMES.values():
        raise errors.InvalidConfigError(
            f"Cannot set the log level of {name} to {operation.value} as it is not a supported log level. Valid log "
            f"levels are {', '.join(sorted(LEVEL_NAMES.values()))}"
        )
