"""The descriptions of all configurations, with one module for each table of keys.

A broker does not import them at its start, but only for requests that include documentation.
"""

from __future__ import annotations

from importlib import import_module

BROKER_TABLES = (
    "server",
    "network",
    "log",
    "replication",
    "group",
    "transaction",
    "metrics",
    "quorum",
    "zookeeper",
    "security",
    "sasl",
    "tls",
    "remote_log",
    "share",
    "streams",
)
NOT_USED = "Not used here."


def broker_documentation(name: str, *, is_used: bool = True) -> str:
    """The description of a broker configuration, with a remark if it is not used. Raises KeyError for other names."""
    for table in BROKER_TABLES:
        text = _texts(table).get(name)
        if text is not None:
            return text if is_used else f"{text} {NOT_USED}"
    raise KeyError(name)


def topic_documentation(name: str, *, is_used: bool = True) -> str:
    """The description of a topic configuration, with a remark if it is not used. Raises KeyError for other names."""
    text = _texts("topic")[name]
    return text if is_used else f"{text} {NOT_USED}"


def table_names(table: str) -> list[str]:
    """The names of the configurations in one of BROKER_TABLES."""
    return list(_texts(table))


def _texts(table: str) -> dict[str, str]:
    texts: dict[str, str] = import_module(f"{__name__}.{table}").TEXTS
    return texts
