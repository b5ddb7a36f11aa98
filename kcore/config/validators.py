"""Validators of configuration values. Names, texts and the order of checks are those of Kafka's ConfigDef.

A validator raises ConfigException with Kafka's text. Its `valid_values` are the text of Kafka's reference.
"""

from __future__ import annotations

from kcore.config.definition import Validator, display, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.config.definition import ConfigValue


def at_least(minimum: float) -> Validator:
    """A number of at least `minimum`."""

    def check(name: str, value: ConfigValue) -> None:
        if value is None:
            raise invalid(name, value, "Value must be non-null")
        assert not isinstance(value, (str, tuple))
        if value < minimum:
            raise invalid(name, value, f"Value must be at least {minimum}")

    return Validator(f"[{minimum},...]", check)


def between(minimum: float, maximum: float) -> Validator:
    """A number from `minimum` to `maximum`."""
    floor = at_least(minimum)

    def check(name: str, value: ConfigValue) -> None:
        floor.ensure_valid(name, value)
        assert isinstance(value, (int, float))
        if value > maximum:
            raise invalid(name, value, f"Value must be no more than {maximum}")

    return Validator(f"[{minimum},...,{maximum}]", check)


def one_of(*choices: str) -> Validator:
    """One of the given strings."""
    listed = ", ".join(choices)

    def check(name: str, value: ConfigValue) -> None:
        if value not in choices:
            raise invalid(name, value, f"String must be one of: {listed}")

    return Validator(f"[{listed}]", check)


def one_of_any_case(*choices: str) -> Validator:
    """One of the given strings in any case."""
    listed = ", ".join(choices)

    def check(name: str, value: ConfigValue) -> None:
        if not isinstance(value, str) or value.upper() not in choices:
            raise invalid(name, value, f"String must be one of (case insensitive): {listed}")

    return Validator(f"(case insensitive) [{listed}]", check)


def subset_of(*choices: str) -> Validator:
    """A list whose every item is one of the given strings."""
    each = one_of(*choices)

    def check(name: str, value: ConfigValue) -> None:
        assert isinstance(value, tuple)
        for item in value:
            each.ensure_valid(name, item)

    return Validator(each.valid_values, check)


def level_between(minimum: int, maximum: int, default: int) -> Validator:
    """A compression level, or the number of the codec's default."""

    def check(name: str, value: ConfigValue) -> None:
        assert isinstance(value, int)
        if value != default and not minimum <= value <= maximum:
            raise invalid(name, value, f"Value must be between {minimum} and {maximum} or equal to {default}")

    return Validator(f"[{minimum},...,{maximum}] or {default}", check)


def _non_empty(name: str, value: ConfigValue) -> None:
    if value == "":
        raise invalid(name, value, "String must be non-empty")


def _non_null(name: str, value: ConfigValue) -> None:
    if value is None:
        raise invalid(name, value, "entry must be non null")


def _voters(name: str, value: ConfigValue) -> None:
    if value is None:
        raise invalid(name, value, "entry must be non null")


def _version(name: str, value: ConfigValue) -> None:
    from kcore.config.metadata_versions import is_version

    if not isinstance(value, str) or not is_version(value):
        raise invalid(name, value, f"Version {value} is not a valid version")


def _throttled_replicas(name: str, value: ConfigValue) -> None:
    assert isinstance(value, tuple)
    if value in ((), ("*",)):
        return
    for item in value:
        partition, colon, broker = item.partition(":")
        if not (colon and partition.isdigit() and broker.isdigit()):
            shown = f"[{', '.join(value)}]"
            raise invalid(
                name,
                shown,
                f"{name} must be the literal '*' or a list of replicas in the following format: {REPLICA_PAIRS}",
            )


def _buffer_size(name: str, value: ConfigValue) -> None:
    assert isinstance(value, int)
    if value != -1 and value < 1:
        raise invalid(name, display(value), "Value must be -1 or at least 1")


REPLICA_PAIRS = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
NON_EMPTY_STRING = Validator("non-empty string", _non_empty)
NON_NULL_STRING = Validator("non-null string", _non_null)
QUORUM_VOTERS = Validator("non-empty list", _voters)
THROTTLED_REPLICAS = Validator(REPLICA_PAIRS, _throttled_replicas)
# Kafka passes any size to the operating system. A size that is always invalid is refused here.
BUFFER_SIZE = Validator("[1,...] or -1", _buffer_size)
METADATA_VERSION = Validator("the name of a release, such as 3.9 or 3.9-IV0", _version)
