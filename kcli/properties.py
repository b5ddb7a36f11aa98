"""Properties as commands get them: `name=value` pairs, files, and typed values out of them. Imports no Click."""

from __future__ import annotations

from kcli.failures import UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def parse_properties(pairs: Iterable[str], option: str) -> dict[str, str]:
    """`name=value` pairs, as they stand on a command line; a later one replaces an earlier one."""
    properties = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageFailure(f"{option} {pair!r}: must be written NAME=VALUE")
        properties[name.strip()] = value
    return properties


def read_properties(path: str | None) -> dict[str, str]:
    """The properties of a file, or none without one."""
    if path is None:
        return {}
    from kcore.config.properties import load_properties

    try:
        return load_properties(path)
    except ValueError as error:
        raise UsageFailure(f"{path}: {error}; a backslash is written \\\\ in a properties file") from None
