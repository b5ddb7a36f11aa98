"""Describes configurations for DescribeConfigs: the value, its source and its synonyms (KIP-226).

Sources in order of precedence: a topic's override, the dynamic configuration of one broker, the dynamic default of all
brokers, this broker's properties, the default. The synonyms of a topic configuration are the broker configurations
that provide its default (ConfigHelper).
"""

from __future__ import annotations

from kcore.config.broker_keys import BROKER_KEYS
from kcore.config.definition import READ_ONLY, ConfigKey, display
from kcore.config.dynamic_validation import base_key
from kcore.config.group_configs import GROUP_KEYS, broker_key_of, group_number
from kcore.config.topic import TopicConfig, broker_synonym_keys
from kcore.config.topic_keys import BROKER_SYNONYMS, TOPIC_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from kcore.config.broker import BrokerConfig

    Entry = dict[str, Any]

TOPIC_CONFIG = 1
DYNAMIC_BROKER_CONFIG = 2
DYNAMIC_DEFAULT_BROKER_CONFIG = 3
STATIC_BROKER_CONFIG = 4
DEFAULT_CONFIG = 5
CLIENT_METRICS_CONFIG = 7
GROUP_CONFIG = 8

# Broker configurations with synonyms: each name with itself and the synonyms of lower precedence.
FAMILIES = {
    name: [synonym for synonym, _ in synonyms[position:]]
    for synonyms in BROKER_SYNONYMS.values()
    for position, (name, _) in enumerate(synonyms)
}

# The type of a configuration without a definition. Its value is treated as sensitive.
UNKNOWN_TYPE = 0


def describe_topic(
    broker: BrokerConfig,
    overrides: Mapping[str, str],
    wanted: Collection[str] | None = None,
    *,
    documented: bool = False,
) -> list[Entry]:
    """The configurations of a topic, or those in `wanted`, sorted by name. Internal ones are included if set."""
    config = TopicConfig(broker, overrides)
    entries = [
        _describe_topic_key(broker, config, TOPIC_KEYS[name])
        for name in sorted(TOPIC_KEYS)
        if (not wanted or name in wanted) and (not TOPIC_KEYS[name].is_internal or name in overrides)
    ]
    if documented:
        from kcore.config.documentation import topic_documentation

        for entry in entries:
            entry["documentation"] = topic_documentation(entry["name"], is_used=TOPIC_KEYS[entry["name"]].is_used)
    return entries


def describe_broker(
    broker: BrokerConfig, wanted: Collection[str] | None = None, *, documented: bool = False
) -> list[Entry]:
    """The configurations of this broker, or those in `wanted`, sorted by name. Internal ones are included if set."""
    names = {key.name for key in BROKER_KEYS.values() if not key.is_internal or broker.is_set(key.name)}
    names.update(broker.unknown, broker.dynamic.own_texts, broker.dynamic.cluster_texts)
    entries = [_describe_broker_key(broker, name) for name in sorted(names) if not wanted or name in wanted]
    return _documented(entries) if documented else entries


def describe_cluster(
    broker: BrokerConfig, wanted: Collection[str] | None = None, *, documented: bool = False
) -> list[Entry]:
    """The dynamic defaults of all brokers, sorted by name."""
    entries = []
    for name in sorted(broker.dynamic.cluster_texts):
        if not wanted or name in wanted:
            entry = _describe_broker_key(broker, name)
            own = [it for it in entry["synonyms"] if it["source"] == DYNAMIC_DEFAULT_BROKER_CONFIG]
            value = own[0]["value"] if own else None
            entries.append({**entry, "value": value, "synonyms": own, "config_source": DYNAMIC_DEFAULT_BROKER_CONFIG})
    return _documented(entries) if documented else entries


def describe_client_metrics(overrides: Mapping[str, str], wanted: Collection[str] | None = None) -> list[Entry]:
    """The configurations that are set for a client metrics subscription, sorted by name."""
    keys = [ConfigKey(name, UNKNOWN_TYPE, None) for name in sorted(overrides) if not wanted or name in wanted]
    entries = [_entry(key, overrides[key.name], [], read_only=False) for key in keys]
    return [{**entry, "config_source": CLIENT_METRICS_CONFIG, "documentation": ""} for entry in entries]


def describe_group(
    broker: BrokerConfig,
    overrides: Mapping[str, str],
    wanted: Collection[str] | None = None,
    *,
    documented: bool = False,
) -> list[Entry]:
    """The configurations of a group, or those in `wanted`, sorted by name."""
    entries = []
    for name in sorted(GROUP_KEYS):
        if not wanted or name in wanted:
            synonyms = _synonyms(broker, [broker_key_of(name)])
            if name in overrides:
                synonyms.insert(0, _synonym(name, overrides[name], GROUP_CONFIG))
            value = display(group_number(broker, overrides, name))
            entries.append(_entry(GROUP_KEYS[name], value, synonyms, read_only=False))
    if documented:
        from kcore.config.documentation import broker_documentation

        for entry in entries:
            entry["documentation"] = broker_documentation(broker_key_of(entry["name"]))
    return entries


def _documented(entries: list[Entry]) -> list[Entry]:
    from kcore.config.documentation import broker_documentation

    for entry in entries:
        key = base_key(entry["name"])
        if key is not None:
            entry["documentation"] = broker_documentation(key.name, is_used=key.is_used)
    return entries


def _describe_topic_key(broker: BrokerConfig, config: TopicConfig, key: ConfigKey) -> Entry:
    synonyms = _synonyms(broker, [synonym.name for synonym in broker_synonym_keys(key.name)])
    if key.name in config.overrides:
        synonyms.insert(0, _synonym(key.name, display(config[key.name]), TOPIC_CONFIG))
    return _entry(key, display(config[key.name]), synonyms, read_only=False)


def _describe_broker_key(broker: BrokerConfig, name: str) -> Entry:
    synonyms = _synonyms(broker, _family(name))
    key = BROKER_KEYS.get(name)
    if key is not None:
        return _entry(key, display(broker[name]), synonyms, read_only=key.mode == READ_ONLY)
    base = base_key(name)
    text = synonyms[0]["value"] if synonyms else None
    if base is None:
        entry = _entry(ConfigKey(name, UNKNOWN_TYPE, None), None, synonyms, read_only=True)
        return {**entry, "is_sensitive": True}
    return {**_entry(base, text, synonyms, read_only=True), "name": name}


def _family(name: str) -> list[str]:
    """The name, then the names that apply if it is not set (log.retention.ms, minutes, hours)."""
    family = FAMILIES.get(name)
    if family is not None:
        return family
    key = base_key(name)
    return [name] if key is None or key.name == name else [name, key.name]


def _synonyms(broker: BrokerConfig, family: list[str]) -> list[Entry]:
    """The set values, then the defaults. As in Kafka, entries before the first one of `family[0]` are left out."""
    synonyms = [synonym for name in family for synonym in _said(broker, name)]
    synonyms.sort(key=lambda synonym: int(synonym["source"]))
    while synonyms and synonyms[0]["name"] != family[0]:
        del synonyms[0]
    return synonyms


def _said(broker: BrokerConfig, name: str) -> list[Entry]:
    """The values of one name in every layer that has one."""
    key = base_key(name)
    said: list[tuple[str | None, int]] = []
    for texts, source in (
        (broker.dynamic.own_texts, DYNAMIC_BROKER_CONFIG),
        (broker.dynamic.cluster_texts, DYNAMIC_DEFAULT_BROKER_CONFIG),
    ):
        if name in texts:
            said.append((texts[name], source))
    if name in broker.unknown:
        said.append((broker.unknown[name], STATIC_BROKER_CONFIG))
    elif name in BROKER_KEYS:
        if broker.is_static(name):
            said.append((display(broker.without_dynamic(name)), STATIC_BROKER_CONFIG))
        default = display(broker.default(name))
        if default is not None:
            said.append((default, DEFAULT_CONFIG))
    return [_synonym(name, None if key is None or key.is_sensitive else value, source) for value, source in said]


def _synonym(name: str, value: str | None, source: int) -> Entry:
    return {"name": name, "value": value, "source": source}


def _entry(key: ConfigKey, value: str | None, synonyms: list[Entry], *, read_only: bool) -> Entry:
    return {
        "name": key.name,
        # Secrets are never shown.
        "value": None if key.is_sensitive else value,
        "read_only": read_only,
        "config_source": synonyms[0]["source"] if synonyms else DEFAULT_CONFIG,
        "is_sensitive": key.is_sensitive,
        "synonyms": synonyms,
        "config_type": key.type,
        "documentation": None,
    }
