"""What was configured at run time, over a broker's properties: for all brokers, and for this one (KIP-226).

Both layers come from the metadata store as text, with names that mean nothing here too (Kafka keeps those for plugins).
A known value that cannot be used, or a key that only a restart changes, is left out and named in `rejected`: it was
refused when it was set, so a stored one means another version or a changed rule, and a broker that would not start
over it could not be mended.
"""

from __future__ import annotations

from kcore.config.definition import READ_ONLY, ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcore.config.broker_keys import BrokerKeys
    from kcore.config.definition import ConfigValue


class DynamicLayers:
    """Typed values by name: `cluster` for all brokers, `own` for this one, which is the stronger. Never changed."""

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
        """The properties with both layers over them."""
        return {**static, **self.cluster, **self.own}


class Subscriptions:
    """Who wants to hear of which names."""

    __slots__ = ("_callbacks",)

    def __init__(self) -> None:
        self._callbacks: tuple[tuple[frozenset[str], Callable[[], None]], ...] = ()

    def add(self, names: Iterable[str], callback: Callable[[], None]) -> None:
        """`callback` is called once for each change that touches any of the names."""
        self._callbacks = (*self._callbacks, (frozenset(names), callback))

    def tell(self, changed: Iterable[str]) -> list[Exception]:
        """Calls everyone concerned, in the order in which they subscribed; the answer is what was raised."""
        failures = []
        for names, callback in self._callbacks:
            if not names.isdisjoint(changed):
                try:
                    callback()
                except Exception as error:
                    failures.append(error)
        return failures


def changed_names(before: Mapping[str, ConfigValue], after: Mapping[str, ConfigValue]) -> frozenset[str]:
    """The names that are set to another value, are newly set, or are set no more."""
    names = before.keys() | after.keys()
    return frozenset(
        name for name in names if (name in before) != (name in after) or before.get(name) != after.get(name)
    )
