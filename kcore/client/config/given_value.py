"""Converts a given configuration value to its type (ConfigDef.parseType).

Strings are parsed as in a properties file. Other Python values must have the right type: a boolean is not accepted as a
number, nor a float as an integer.
"""

from __future__ import annotations

from kcore.config.definition import (
    BOOLEAN,
    CLASS,
    DOUBLE,
    INTEGER_BITS,
    LIST,
    ConfigException,
    invalid,
    parse_value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.config.definition import ConfigKey

# Lists that may contain objects instead of class names.
CLASS_LISTS = frozenset({"interceptor.classes", "metric.reporters", "partition.assignment.strategy"})


def typed_value(key: ConfigKey, value: Any) -> Any:
    """Return the typed and validated value. Raises ConfigException if it is invalid."""
    typed: Any = parse_value(key.name, value, key.type) if isinstance(value, str) else _own_value(key, value)
    if isinstance(typed, tuple):
        typed = _without_repeats(key.name, typed)
    if typed is None and key.default is not None:
        raise invalid(key.name, None, "A value is required. Remove it for the default")
    if key.validator is not None:
        key.validator.ensure_valid(key.name, typed)
    return typed


def _own_value(key: ConfigKey, value: Any) -> Any:
    """Return the typed value of anything but a string."""
    if value is None:
        return None
    if key.type == CLASS:
        return value
    if key.type == LIST:
        return _items(key, value)
    if isinstance(value, bool):
        if key.type == BOOLEAN:
            return value
    elif isinstance(value, int):
        if key.type in INTEGER_BITS:
            return parse_value(key.name, str(value), key.type)
        if key.type == DOUBLE:
            return float(value)
        if key.type != BOOLEAN:
            return str(value)
    elif isinstance(value, float) and key.type == DOUBLE:
        return value
    expected = _EXPECTED.get(key.type, "a string")
    raise invalid(key.name, repr(value), f"Expected value to be {expected}, but it was a {type(value).__name__}")


def _items(key: ConfigKey, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        value = (value,) if key.name in CLASS_LISTS else None
    if value is None or (key.name not in CLASS_LISTS and not all(isinstance(item, str) for item in value)):
        raise invalid(key.name, repr(value), "Expected value to be a list of strings, or one string with commas")
    return tuple(item.strip() if isinstance(item, str) else item for item in value)


def _without_repeats(name: str, items: tuple[Any, ...]) -> tuple[Any, ...]:
    if "" in items:
        raise ConfigException(f"Configuration '{name}' values must not be empty.")
    return tuple(dict.fromkeys(items))


_EXPECTED = {
    BOOLEAN: "true or false",
    DOUBLE: "a number",
    **{number: f"a whole number of {bits} bits" for number, bits in INTEGER_BITS.items()},
}
