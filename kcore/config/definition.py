"""ConfigKey: the definition of a configuration: name, type, default, validator and mode.

Values are parsed from strings to Python values. The error texts are those of Kafka's ConfigDef, because clients show
them to users.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    ConfigValue: TypeAlias = "bool | int | float | str | tuple[str, ...] | None"

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

# Update modes (KIP-226): after a restart, on one broker, on all brokers.
READ_ONLY = "read-only"
PER_BROKER = "per-broker"
CLUSTER_WIDE = "cluster-wide"

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1

HIDDEN_VALUE = "[hidden]"


# Minimum similarity of a suggested name, from 0 to 1.
LIKENESS = 0.8


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to a misspelt one; None if no name is similar."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1, LIKENESS)
    return near[0] if near else None


class ConfigException(ValueError):
    """An invalid configuration. The text contains its name and the reason.

    `names` are the configurations at fault, so that a caller can report where each was set. `parts` are the single
    errors, if there are several.
    """

    def __init__(self, message: str, *names: str) -> None:
        super().__init__(message)
        self.names = names
        self.parts: tuple[ConfigException, ...] = (self,)

    @classmethod
    def joined(cls, errors: Sequence[ConfigException]) -> ConfigException:
        """One exception with all of these errors, one per line."""
        if len(errors) == 1:
            return errors[0]
        whole = cls("\n".join(map(str, errors)), *(name for error in errors for name in error.names))
        whole.parts = tuple(errors)
        return whole


def invalid(name: str, value: ConfigValue, complaint: str) -> ConfigException:
    """The exception for an invalid value of the right type, with Kafka's text."""
    shown = "null" if value is None else display(value)
    return ConfigException(f"Invalid value {shown} for configuration {name}: {complaint}", name)


class Validator:
    """`ensure_valid` raises ConfigException for an invalid typed value. `valid_values` describes the valid ones."""

    __slots__ = ("ensure_valid", "valid_values")

    def __init__(self, valid_values: str, ensure_valid: Callable[[str, ConfigValue], None]) -> None:
        self.valid_values = valid_values
        self.ensure_valid = ensure_valid


class ConfigKey:
    """One configuration. `is_used`: it has an effect here. `is_internal`: it is listed only if it is set.

    The descriptions are in `kcore/config/documentation`, which a broker does not import at its start.
    """

    __slots__ = ("default", "importance", "is_internal", "is_used", "mode", "name", "type", "validator")

    def __init__(
        self,
        name: str,
        type: int,
        default: ConfigValue,
        validator: Validator | None = None,
        importance: str = MEDIUM,
        mode: str = READ_ONLY,
        is_used: bool = True,
        is_internal: bool = False,
    ) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.validator = validator
        self.importance = importance
        self.mode = mode
        self.is_used = is_used
        self.is_internal = is_internal

    @property
    def is_sensitive(self) -> bool:
        """Whether the value is a secret."""
        return self.type == PASSWORD

    def parse(self, text: str | None) -> ConfigValue:
        """The typed and validated value of a string. ConfigException if it is invalid."""
        value = None if text is None else parse_value(self.name, text, self.type)
        if self.validator is not None:
            self.validator.ensure_valid(self.name, value)
        return value


def unused(
    name: str,
    type: int,
    default: ConfigValue,
    validator: Validator | None = None,
    importance: str = MEDIUM,
    mode: str = READ_ONLY,
    is_internal: bool = False,
) -> ConfigKey:
    """A configuration of Kafka that is listed and validated, and has no effect here."""
    return ConfigKey(name, type, default, validator, importance, mode, False, is_internal)


def parse_value(name: str, text: str, type: int) -> ConfigValue:
    """Parses a string as one of Kafka's configuration types, without validation."""
    trimmed = text.strip()
    if type == BOOLEAN:
        lowered = trimmed.lower()
        if lowered in ("true", "false"):
            return lowered == "true"
        raise ConfigException(
            f"Invalid value {text} for configuration {name}: Expected value to be either true or false", name
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
    value = parse_decimal(text, INTEGER_BITS[type])
    if value is None:
        raise _not_a_number(name, text, type)
    return value


def parse_decimal(text: str, bits: int) -> int | None:
    """The signed integer that `text` is in decimal, as Java's parsers read it; None if it is none of `bits` bits."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    # Python refuses to convert thousands of digits. Leading zeros are allowed.
    if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > bits:
        return None
    value = int(digits.lstrip("0") or "0") * (-1 if text[0] == "-" else 1)
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None


def _not_a_number(name: str, text: str, type: int) -> ConfigException:
    return ConfigException(
        f"Invalid value {text} for configuration {name}: Not a number of type {TYPE_NAMES[type]}", name
    )


def display(value: ConfigValue) -> str | None:
    """A typed value as a string, as in Kafka's DescribeConfigs and error texts."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    return _java_double(value) if isinstance(value, float) else str(value)


def _java_double(value: float) -> str:
    """Java's Double.toString: plain from 10^-3 up to 10^7, else with an exponent."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        digits = f"{value:.16e}".partition("e")
        mantissa, exponent = repr(float(digits[0])), digits[2]
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def index_by_name(*tables: Iterable[ConfigKey]) -> dict[str, ConfigKey]:
    """Tables of keys as one dictionary. Names must be unique."""
    index: dict[str, ConfigKey] = {}
    for table in tables:
        for config_key in table:
            assert config_key.name not in index, config_key.name
            index[config_key.name] = config_key
    return index
