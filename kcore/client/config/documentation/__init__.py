"""Descriptions of the clients' configurations, with one module per table of keys.

Clients do not need these texts. They are imported only for documentation.
"""

from __future__ import annotations

from importlib import import_module

TABLES = ("producer", "consumer", "admin", "connection", "security")
NOT_USED = "Not used here."


def client_documentation(name: str, table: str, *, is_used: bool = True) -> str:
    """Return the description of a configuration in one of TABLES. An unused one is marked as such."""
    text = texts(table)[name]
    return text if is_used else f"{text} {NOT_USED}"


def texts(table: str) -> dict[str, str]:
    """Return all descriptions of one of TABLES, by name."""
    found: dict[str, str] = import_module(f"{__name__}.{table}").TEXTS
    return found
