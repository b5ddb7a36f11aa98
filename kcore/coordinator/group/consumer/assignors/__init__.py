"""Server-side assignors of consumer groups, by the name that a member asks for (`group.consumer.assignors`).

An assignor is a pure function of the members' subscriptions, their present targets and the topics' partition counts.
Every partition of a subscribed topic is assigned to exactly one of its subscribers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from kcore.coordinator.group.consumer.assignors.subscriber import Assignment, Subscriber

    Assignor: TypeAlias = Callable[[Mapping[str, Subscriber], Mapping[bytes, int]], dict[str, Assignment]]

UNIFORM = "uniform"
RANGE = "range"

# Names in Kafka's configuration: the class or the short name.
NAMES = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": UNIFORM,
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": RANGE,
    UNIFORM: UNIFORM,
    RANGE: RANGE,
}


def assignor_named(name: str) -> Assignor:
    """The assignor for one of NAMES."""
    if name == RANGE:
        from kcore.coordinator.group.consumer.assignors import range as by_range

        return by_range.assign
    from kcore.coordinator.group.consumer.assignors import uniform

    return uniform.assign
