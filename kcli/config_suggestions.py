"""Suggestions for misspelt configurations: of topics, which a broker refuses, and of brokers, which it accepts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

INVALID_CONFIG = 40


def suggest_topic_configs(error: Exception, names: Iterable[str]) -> None:
    """Notes on INVALID_CONFIG which known configurations resemble the unknown ones among `names`."""
    from kcore.config.definition import nearest_name
    from kcore.config.topic_keys import TOPIC_KEYS
    from kcore.errors import KafkaError

    if not isinstance(error, KafkaError) or error.code != INVALID_CONFIG:
        return
    near = [nearest_name(name, TOPIC_KEYS) for name in names if name not in TOPIC_KEYS]
    suggested = [name for name in near if name is not None]
    if suggested:
        error.add_note(f"did you mean {', '.join(suggested)}?")


def warn_of_unknown_broker_configs(names: Iterable[str]) -> None:
    """Warns on stderr: brokers accept any name, because plugins may define it."""
    from kcli.failures import complain
    from kcore.config.broker_keys import BROKER_KEYS
    from kcore.config.definition import nearest_name
    from kcore.config.foreign_names import remark
    from kcore.config.listener_names import is_listener_bound

    for name in names:
        if name not in BROKER_KEYS and remark(name) is None and not is_listener_bound(name):
            near = nearest_name(name, BROKER_KEYS)
            suggestion = f". Did you mean {near}?" if near is not None else ""
            complain(f"warning: unknown broker configuration {name}{suggestion}")
