"""`partitioner.class`: a native partitioner by name, or a custom callable.

A custom partitioner gets the topic, the serialized key (or None) and the number of partitions, and returns a partition.
It is a callable, or an object with such a method `partition`.
"""

from __future__ import annotations

from kcore.config.definition import ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    CustomPartitioner = Callable[[str, bytes | None, int], int]

# PartitionerKind of kcore/client/producer/partitioner.pxd.
BUILT_IN, ROUND_ROBIN, UNIFORM_STICKY = range(3)
PACKAGE = "org.apache.kafka.clients.producer."
NAMED = {
    "RoundRobinPartitioner": ROUND_ROBIN,
    "round_robin": ROUND_ROBIN,
    "UniformStickyPartitioner": UNIFORM_STICKY,
    "uniform_sticky": UNIFORM_STICKY,
    "default": BUILT_IN,
    "internals.DefaultPartitioner": BUILT_IN,
}


def partitioner_of(given: Any) -> tuple[int, CustomPartitioner | None]:
    """Return the native partitioner, and the custom one or None."""
    if given is None:
        return BUILT_IN, None
    if isinstance(given, str):
        short = given.removeprefix(PACKAGE)
        if short not in NAMED:
            raise ConfigException(
                f"Invalid value {given} for configuration partitioner.class: Class {given} could not be found. Use "
                f"one of {', '.join(NAMED)}, or a callable of topic, key and number of partitions"
            )
        return NAMED[short], None
    made = given() if isinstance(given, type) else given
    method = getattr(made, "partition", None)
    custom: CustomPartitioner = method if callable(method) else made
    if not callable(custom):
        raise ConfigException(f"Invalid value {given!r} for configuration partitioner.class: it is not callable")
    return BUILT_IN, custom
