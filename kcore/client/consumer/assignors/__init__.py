"""Assignors of the classic protocol, which the group's leader runs: range, round robin, sticky, cooperative sticky.

An assignor is a pure function over members and topics. Members vote for it by its name. `by_name` accepts the values of
`partition.assignment.strategy`: Kafka's class names, or the names in the protocol.
"""

from __future__ import annotations

from kcore.client.consumer.assignors.assignor import Assignor
from kcore.client.errors import InvalidSetting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

JAVA_PACKAGE = "org.apache.kafka.clients.consumer."
# Name in the protocol, and Kafka's class name.
JAVA_NAMES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


def by_name(name: str) -> Assignor:
    """Return the assignor with a name. Raises InvalidSetting if there is none."""
    short = name.removeprefix(JAVA_PACKAGE)
    if short in ("range", "RangeAssignor"):
        from kcore.client.consumer.assignors.range import RangeAssignor

        return RangeAssignor()
    if short in ("roundrobin", "RoundRobinAssignor"):
        from kcore.client.consumer.assignors.round_robin import RoundRobinAssignor

        return RoundRobinAssignor()
    if short in ("sticky", "StickyAssignor"):
        from kcore.client.consumer.assignors.sticky import StickyAssignor

        return StickyAssignor()
    if short in ("cooperative-sticky", "CooperativeStickyAssignor"):
        from kcore.client.consumer.assignors.sticky import CooperativeStickyAssignor

        return CooperativeStickyAssignor()
    known = ", ".join(JAVA_NAMES)
    raise InvalidSetting(f"partition.assignment.strategy: unknown assignor {name!r}. Use one of {known}, or an object")


def chosen(strategies: Iterable[str | Assignor]) -> list[Assignor]:
    """The assignors of `partition.assignment.strategy`, in order of preference."""
    assignors = [by_name(strategy) if isinstance(strategy, str) else strategy for strategy in strategies]
    names = [assignor.name for assignor in assignors]
    if not names:
        raise InvalidSetting("partition.assignment.strategy is empty. Name at least one assignor")
    if len(set(names)) < len(names):
        raise InvalidSetting(f"partition.assignment.strategy: {', '.join(names)} contains an assignor twice")
    return assignors
