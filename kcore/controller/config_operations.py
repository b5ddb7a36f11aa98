"""The operations of IncrementalAlterConfigs on the overrides of one resource (KIP-339). Pure.

Operations on a list add and remove single items. Without an override, they change the current effective value.
"""

from __future__ import annotations

from kcore import errors
from kcore.metadata.image import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OPERATION_NAMES = {SET: "SET", DELETE: "DELETE", APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


class ConfigOperation(Value):
    """An operation on one configuration. `value` is None only for DELETE."""

    __slots__ = ("name", "operation", "value")

    def __init__(self, name: str, operation: int, value: str | None) -> None:
        self.name = name
        self.operation = operation
        self.value = value


def check_operations(operations: Iterable[ConfigOperation]) -> None:
    """Raises InvalidRequestError for duplicate names, missing values and unknown operations."""
    listed = list(operations)
    if len({operation.name for operation in listed}) < len(listed):
        raise errors.InvalidRequestError("Error due to duplicate config keys")
    missing = [each.name for each in listed if each.value is None and each.operation != DELETE]
    if missing:
        raise errors.InvalidRequestError(f"Null value not supported for : {', '.join(missing)}")
    unknown = [each for each in listed if each.operation not in OPERATION_NAMES]
    if unknown:
        raise errors.InvalidRequestError(f"Unknown operation type {unknown[0].operation} for {unknown[0].name}")


def apply_operations(
    overrides: Mapping[str, str],
    operations: Iterable[ConfigOperation],
    list_value: Callable[[ConfigOperation], Iterable[str]],
) -> dict[str, str]:
    """The overrides after the operations. `list_value` returns the current items, or raises if it is not a list."""
    changed = dict(overrides)
    for each in operations:
        if each.operation == DELETE:
            changed.pop(each.name, None)
            continue
        assert each.value is not None
        if each.operation == SET:
            changed[each.name] = each.value
            continue
        present = list(list_value(each))
        items = [item.strip() for item in each.value.split(",")]
        if each.operation == APPEND:
            present += [item for item in dict.fromkeys(items) if item not in present]
        else:
            present = [item for item in present if item not in items]
        changed[each.name] = ",".join(present)
    return changed
