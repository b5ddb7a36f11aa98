"""DynamicLayers: configurations set at run time, for all brokers and for this broker (KIP-226).

Both layers are strings from the metadata store. They may contain unknown names, which Kafka keeps for plugins. Invalid
values and read-only keys are ignored and listed in `rejected`. They were refused when they were set, so stored ones
come from another version. The broker still starts with them: otherwise nobody could correct them.
"""

from __future__ import annotations

from kcore.config.definition import READ_ONLY, ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcore.config.broker_keys import BrokerKeys
    from kcore.config.definition import ConfigValue


class DynamicLayers:
    """Typed values by name: `cluster` of all brokers, `own` of this broker, which has precedence. Immutable."""

    __slots__ = ("cluster", "cluster_texts", "own", "own_texts", "rejected")

    def __init__(
        self,
        keys: BrokerKeys,
        cluster: Mapping[str, str] | None = None,
        own: Mapping[str, str] | None = None,
    ) -> None:
        self.rejected: list[str] = []
        self.cluster_texts: Mapping[str, str] = cluster or {}
        self.own_texts: Mapping[str, str] = own or {}
        self.cluster = self._parse(keys, self.cluster_texts)
        self.own = self._parse(keys, self.own_texts)

    def _parse(self, keys: BrokerKeys, texts: Mapping[str, str]) -> dict[str, ConfigValue]:
        values: dict[str, ConfigValue] = {}
        for name, text in texts.items():
            key = keys.get(name)
            if key is None:
                continue
            if key.mode == READ_ONLY:
                self.rejected.append(f"The stored configuration {name} cannot be changed at run time")
                continue
            try:
                values[name] = key.parse(text)
            except ConfigException as error:
                self.rejected.append(f"A stored configuration is invalid: {error}")
        return values

    def over(self, static: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
        """The properties, overridden by both layers."""
        return {**static, **self.cluster, **self.own}


class Subscriptions:
    """Callbacks by the names that they subscribe to."""

    __slots__ = ("_callbacks",)

    def __init__(self) -> None:
        self._callbacks: tuple[tuple[frozenset[str], Callable[[], None]], ...] = ()

    def add(self, names: Iterable[str], callback: Callable[[], None]) -> None:
        """Calls `callback` once for each change of one or more of the names."""
        self._callbacks = (*self._callbacks, (frozenset(names), callback))

    def tell(self, changed: Iterable[str]) -> list[Exception]:
        """Calls the subscribers of changed names in the order of subscription. Returns their exceptions."""
        failures = []
        for names, callback in self._callbacks:
            if not names.isdisjoint(changed):
                try:
                    callback()
                except Exception as error:
                    failures.append(error)
        return failures


def changed_names(before: Mapping[str, ConfigValue], after: Mapping[str, ConfigValue]) -> frozenset[str]:
    """The names that have another value, are newly set, or are not set any more."""
    names = before.keys() | after.keys()
    return frozenset(
        name for name in names if (name in before) != (name in after) or before.get(name) != after.get(name)
    )
