"""What each configuration of a client is for, in a sentence or two; a module for each table of keys.

A client is made without these texts: they are imported when someone asks for documentation.
"""

from __future__ import annotations

from importlib import import_module

TABLES = ("producer", "consumer", "admin", "connection", "security")
NOT_USED = "Not used here."


def client_documentation(name: str, table: str, *, is_used: bool = True) -> str:
    """The text of a configuration in one of TABLES; of one that is not used it says so."""
    text = texts(table)[name]
    return text if is_used else f"{text} {NOT_USED}"


def texts(table: str) -> dict[str, str]:
    """Every text of one of TABLES, by name."""
    found: dict[str, str] = import_module(f"{__name__}.{table}").TEXTS
    return found
