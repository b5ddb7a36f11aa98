"""A configuration as clients are shown it: its value, where the value comes from, and what else could have given it.

The sources are DescribeConfigs' (KIP-226): a topic's own override, the properties of this broker, or the default. A
topic configuration also names the broker configurations behind it (ConfigHelper.createTopicConfigEntry).
"""

from __future__ import annotations

from kcore.config.broker import BROKER_KEYS
from kcore.config.definition import PASSWORD, READ_ONLY, display
from kcore.config.topic import TopicConfig, broker_synonym_keys
from kcore.config.topic_keys import BROKER_SYNONYMS, TOPIC_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from kcore.config.broker import BrokerConfig
    from kcore.config.definition import ConfigKey

TOPIC_CONFIG = 1
STATIC_BROKER_CONFIG = 4
DEFAULT_CONFIG = 5


def describe_topic(
    broker: BrokerConfig, overrides: Mapping[str, str], wanted: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """All configurations of a topic, or those of the `wanted` names, sorted by name."""
    config = TopicConfig(broker, overrides)
    return [
        _describe_topic_key(broker, config, TOPIC_KEYS[name])
        for name in sorted(TOPIC_KEYS)
        if not wanted or name in wanted
    ]


def describe_broker(broker: BrokerConfig, wanted: Collection[str] | None = None) -> list[dict[str, Any]]:
    """All configurations of a broker, or those of the `wanted` names, sorted by name."""
    return [
        _describe_broker_key(broker, BROKER_KEYS[name]) for name in sorted(BROKER_KEYS) if not wanted or name in wanted
    ]


def _describe_topic_key(broker: BrokerConfig, config: TopicConfig, key: ConfigKey) -> dict[str, Any]:
    synonyms = _synonyms(broker, broker_synonym_keys(key.name))
    if key.name in config.overrides:
        synonyms.insert(0, _synonym(key.name, display(config[key.name]), TOPIC_CONFIG))
    return _entry(key, display(config[key.name]), synonyms, read_only=False)


def _describe_broker_key(broker: BrokerConfig, key: ConfigKey) -> dict[str, Any]:
    synonyms = _synonyms(broker, [BROKER_KEYS[name] for name in _family(key.name)])
    return _entry(key, display(broker[key.name]), synonyms, read_only=key.mode == READ_ONLY)


def _family(name: str) -> list[str]:
    """The configurations that say the same in larger units, the asked one first (log.retention.ms, minutes, hours)."""
    for synonyms in BROKER_SYNONYMS.values():
        names = [synonym for synonym, _ in synonyms]
        if name in names:
            return names[names.index(name) :]
    return [name]


def _synonyms(broker: BrokerConfig, family: list[ConfigKey]) -> list[dict[str, Any]]:
    """What was set, then what is default; as Kafka answers, nothing that stands before the first of the family does."""
    synonyms = [synonym for key in family for synonym in _static_synonyms(broker, key)]
    synonyms.sort(key=lambda synonym: int(synonym["source"]))
    while synonyms and synonyms[0]["name"] != family[0].name:
        del synonyms[0]
    return synonyms


def _static_synonyms(broker: BrokerConfig, key: ConfigKey) -> list[dict[str, Any]]:
    """What this broker's properties and what the default say, as far as they say anything."""
    said = [(display(broker[key.name]), STATIC_BROKER_CONFIG)] if broker.is_set(key.name) else []
    default = display(broker.default(key.name))
    if default is not None:
        said.append((default, DEFAULT_CONFIG))
    return [_synonym(key.name, _shown(key, value), source) for value, source in said]


def _synonym(name: str, value: str | None, source: int) -> dict[str, Any]:
    return {"name": name, "value": value, "source": source}


def _entry(key: ConfigKey, value: str | None, synonyms: list[dict[str, Any]], *, read_only: bool) -> dict[str, Any]:
    return {
        "name": key.name,
        "value": _shown(key, value),
        "read_only": read_only,
        "config_source": synonyms[0]["source"] if synonyms else DEFAULT_CONFIG,
        "is_sensitive": key.type == PASSWORD,
        "synonyms": synonyms,
        "config_type": key.type,
        "documentation": key.documentation,
    }


def _shown(key: ConfigKey, value: str | None) -> str | None:
    """Secrets are never shown."""
    return None if key.type == PASSWORD else value
