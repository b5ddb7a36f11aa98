"""What IncrementalAlterConfigs' operations make of a resource's overrides."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.controller.config_operations import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    ConfigOperation,
    apply_operations,
    check_operations,
)

PRESENT = {"cleanup.policy": "delete", "retention.ms": "5"}


def items_of(operation: ConfigOperation) -> list[str]:
    """As a broker answers it whose default is `delete`."""
    return PRESENT.get(operation.name, "delete").split(",")


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (ConfigOperation("retention.ms", SET, "6"), {"cleanup.policy": "delete", "retention.ms": "6"}),
        (ConfigOperation("segment.ms", SET, "7"), {**PRESENT, "segment.ms": "7"}),
        (ConfigOperation("retention.ms", DELETE, None), {"cleanup.policy": "delete"}),
        (ConfigOperation("retention.ms", DELETE, "5"), {"cleanup.policy": "delete"}),
        (ConfigOperation("segment.ms", DELETE, None), PRESENT),
        (ConfigOperation("cleanup.policy", APPEND, "compact"), {**PRESENT, "cleanup.policy": "delete,compact"}),
        (ConfigOperation("cleanup.policy", APPEND, "delete"), PRESENT),
        (ConfigOperation("cleanup.policy", APPEND, "b, b ,c"), {**PRESENT, "cleanup.policy": "delete,b,c"}),
        (ConfigOperation("cleanup.policy", SUBTRACT, "delete,x"), {**PRESENT, "cleanup.policy": ""}),
        (ConfigOperation("another.list", APPEND, "compact"), {**PRESENT, "another.list": "delete,compact"}),
    ],
)
def test_one_operation(operation: ConfigOperation, expected: dict[str, str]) -> None:
    before = dict(PRESENT)
    assert apply_operations(PRESENT, [operation], items_of) == expected
    assert before == PRESENT


@pytest.mark.parametrize(
    ("operations", "complaint"),
    [
        ([("a", SET, "1"), ("a", DELETE, None)], "Error due to duplicate config keys"),
        ([("a", SET, None), ("b", APPEND, None), ("c", DELETE, None)], "Null value not supported for : a, b"),
        ([("a", 4, "1")], "Unknown operation type 4 for a"),
    ],
)
def test_what_no_resource_can_be_given(operations: list[tuple[str, int, str | None]], complaint: str) -> None:
    with pytest.raises(errors.InvalidRequestError, match=f"^{complaint}"):
        check_operations(ConfigOperation(*each) for each in operations)
