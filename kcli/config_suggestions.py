"""Suggestions for misspelt topic configurations that a broker refuses."""

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
