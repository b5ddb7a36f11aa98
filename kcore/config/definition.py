"""The notation of a configuration: its name, type, default, validator, mode and documentation.

A table of `ConfigKey` objects is all there is to know about a set of configurations; values arrive as strings and
leave as Python values. The texts of errors are those that Kafka's ConfigDef gives, because clients show them to users.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    ConfigValue: TypeAlias = "bool | int | float | str | tuple[str, ...] | None"
    Validator: TypeAlias = "Callable[[ConfigValue], str | None]"

# ConfigType of DescribeConfigs (KIP-569).
BOOLEAN = 1
STRING = 2
INT = 3
SHORT = 4
LONG = 5
DOUBLE = 6
LIST = 7
CLASS = 8
PASSWORD = 9

TYPE_NAMES = {
    BOOLEAN: "BOOLEAN",
    STRING: "STRING",
    INT: "INT",
    SHORT: "SHORT",
    LONG: "LONG",
    DOUBLE: "DOUBLE",
    LIST: "LIST",
    CLASS: "CLASS",
    PASSWORD: "PASSWORD",
}
INTEGER_BITS = {SHORT: 16, INT: 32, LONG: 64}

HIGH = "high"
MEDIUM = "medium"
LOW = "low"

# When a change takes effect (KIP-226): after a restart, on one broker, on all brokers.
READ_ONLY = "read-only"
PER_BROKER = "per-broker"
CLUSTER_WIDE = "cluster-wide"

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1

HIDDEN_VALUE = "[hidden]"


class ConfigException(ValueError):
    """A configuration that cannot be used; the text says which and why."""


class ConfigKey:
    """One configuration. `validate` answers what is wrong with a typed value, or None."""

    __slots__ = ("default", "documentation", "importance", "mode", "name", "type", "validate")

    def __init__(
        self,
        name: str,
        type: int,
        default: ConfigValue,
        documentation: str,
        validate: Validator | None = None,
        importance: str = MEDIUM,
        mode: str = READ_ONLY,
    ) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.documentation = documentation
        self.validate = validate
        self.importance = importance
        self.mode = mode

    def parse(self, text: str | None) -> ConfigValue:
        """The typed and validated value of a string; ConfigException says what is wrong with it."""
        value = None if text is None else parse_value(self.name, text, self.type)
        if self.validate is not None:
            complaint = self.validate(value)
            if complaint is not None:
                raise ConfigException(f"Invalid value {display(value)} for configuration {self.name}: {complaint}")
        return value


def parse_value(name: str, text: str, type: int) -> ConfigValue:
    """A string as a value of one of Kafka's configuration types, without validation."""
    trimmed = text.strip()
    if type == BOOLEAN:
        lowered = trimmed.lower()
        if lowered in ("true", "false"):
            return lowered == "true"
        raise ConfigException(
            f"Invalid value {text} for configuration {name}: Expected value to be either true or false"
        )
    if type in INTEGER_BITS:
        return _parse_integer(name, trimmed, type)
    if type == DOUBLE:
        try:
            return float(trimmed)
        except ValueError:
            raise _not_a_number(name, trimmed, type) from None
    if type == LIST:
        return tuple(item.strip() for item in trimmed.split(",")) if trimmed else ()
    return text if type == PASSWORD else trimmed


def _parse_integer(name: str, text: str, type: int) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise _not_a_number(name, text, type)
    value = int(text)
    bound = 1 << (INTEGER_BITS[type] - 1)
    if not -bound <= value < bound:
        raise _not_a_number(name, text, type)
    return value


def _not_a_number(name: str, text: str, type: int) -> ConfigException:
    return ConfigException(f"Invalid value {text} for configuration {name}: Not a number of type {TYPE_NAMES[type]}")


def display(value: ConfigValue) -> str | None:
    """A typed value as Kafka shows it in DescribeConfigs and in error texts."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


def at_least(minimum: float) -> Validator:
    """A number that is not below `minimum`."""

    def check(value: ConfigValue) -> str | None:
        assert not isinstance(value, (str, tuple))
        return None if value is None or value >= minimum else f"Value must be at least {minimum}"

    return check


def between(minimum: float, maximum: float) -> Validator:
    """A number within both bounds."""
    too_small = at_least(minimum)

    def check(value: ConfigValue) -> str | None:
        assert not isinstance(value, (str, tuple))
        if value is not None and value > maximum:
            return f"Value must be no more than {maximum}"
        return too_small(value)

    return check


def one_of(*choices: str) -> Validator:
    """One of the given strings."""

    def check(value: ConfigValue) -> str | None:
        return None if value in choices else f"String must be one of: {', '.join(choices)}"

    return check


def subset_of(*choices: str) -> Validator:
    """A list whose every item is one of the given strings."""

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, tuple)
        if all(item in choices for item in value):
            return None
        return f"String must be one of: {', '.join(choices)}"

    return check


def index_by_name(*tables: Iterable[ConfigKey]) -> dict[str, ConfigKey]:
    """Tables of keys as one dictionary; a name stands in one table only."""
    index: dict[str, ConfigKey] = {}
    for table in tables:
        for config_key in table:
            assert config_key.name not in index, config_key.name
            index[config_key.name] = config_key
    return index
