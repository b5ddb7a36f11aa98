"""Properties on the command line and in files. Does not import Click."""

from __future__ import annotations

from kcli.failures import UsageFailure, complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcore.config.definition import ConfigException

# Where this process read each property, for messages about it: the line of a file, or an option.
_places: dict[str, str] = {}


class Properties(dict[str, str]):
    """Properties by name. `places` says where each was set, for error messages: the line of a file, or an option."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[str, str] = {}

    def set(self, name: str, value: str, place: str) -> None:
        """Sets a property; it replaces an earlier value."""
        self[name] = value
        self.places[name] = place

    def read_file(self, path: str) -> None:
        """Sets the properties of a file."""
        from kcore.config.properties import load_text, numbered_properties

        try:
            for number, name, value in numbered_properties(load_text(path)):
                self.set(name, value, f"{path}:{number}")
        except ValueError as error:
            raise _malformed(path, error) from None

    def read_pairs(self, pairs: Iterable[str], option: str) -> None:
        """Sets `name=value` pairs of an option."""
        for name, value in parse_properties(pairs, option).items():
            self.set(name, value, f"{option} {name}")

    def located(self, error: ConfigException) -> UsageFailure:
        """A failure that says where the invalid values were set."""
        lines = [self._located(part) for part in error.parts]
        return UsageFailure("\n".join(lines), lines)

    def _located(self, error: ConfigException) -> str:
        places = dict.fromkeys(self.places[name] for name in error.names if name in self.places)
        return ": ".join([*filter(None, [", ".join(places)]), str(error)])


def parse_properties(pairs: Iterable[str], option: str) -> dict[str, str]:
    """`name=value` pairs of a command line; a later pair replaces an earlier one."""
    properties = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageFailure(f"{option}: expected NAME=VALUE, got {pair!r}")
        properties[name.strip()] = value
        _places[name.strip()] = option
    return properties


def read_properties(path: str | None) -> dict[str, str]:
    """The properties of a file; empty without a file."""
    if path is None:
        return {}
    properties = Properties()
    properties.read_file(path)
    _places.update(properties.places)
    return properties


def complain_of(warnings: Iterable[str]) -> None:
    """Prints warnings about properties. One that begins with a property's name says where the property was read."""
    for warning in warnings:
        place = _places.get(warning.partition(" ")[0])
        complain(warning if place is None else f"{place}: {warning}")


def _malformed(path: str, error: ValueError) -> UsageFailure:
    return UsageFailure(f"{path}: {error}. Write a backslash as \\\\ in a properties file")
