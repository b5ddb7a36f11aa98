"""Every broker configuration by name.

The tables of used configurations are imported at once. The others (security, tiered storage, KRaft, ZooKeeper, share
and streams groups) are imported when a name is not in the former, or when all names are needed: this saves a
millisecond at each start.
"""

from __future__ import annotations

from kcore.config import (
    group_keys,
    log_keys,
    metrics_keys,
    network_keys,
    replication_keys,
    server_keys,
    transaction_keys,
)
from kcore.config.definition import index_by_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcore.config.definition import ConfigKey

COMMON_TABLES = (
    server_keys.KEYS,
    network_keys.KEYS,
    log_keys.KEYS,
    replication_keys.KEYS,
    group_keys.KEYS,
    transaction_keys.KEYS,
    metrics_keys.KEYS,
)


class BrokerKeys:
    """A read-only mapping of names to keys. Concurrency: any thread may load the remaining tables."""

    __slots__ = ("_keys", "_lacks_rare_ones")

    def __init__(self) -> None:
        self._keys = index_by_name(*COMMON_TABLES)
        self._lacks_rare_ones = True

    def get(self, name: str) -> ConfigKey | None:
        """The key with a name, or None."""
        key = self._keys.get(name)
        return self._all().get(name) if key is None and self._lacks_rare_ones else key

    def __getitem__(self, name: str) -> ConfigKey:
        key = self.get(name)
        if key is None:
            raise KeyError(name)
        return key

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def values(self) -> list[ConfigKey]:
        """Every key."""
        return list(self._all().values())

    def _all(self) -> dict[str, ConfigKey]:
        if self._lacks_rare_ones:
            from kcore.config import (
                quorum_keys,
                remote_log_keys,
                sasl_keys,
                security_keys,
                share_keys,
                streams_keys,
                tls_keys,
                zookeeper_keys,
            )

            self._keys = index_by_name(
                *COMMON_TABLES,
                quorum_keys.KEYS,
                zookeeper_keys.KEYS,
                security_keys.KEYS,
                sasl_keys.KEYS,
                tls_keys.KEYS,
                remote_log_keys.KEYS,
                share_keys.KEYS,
                streams_keys.KEYS,
            )
            self._lacks_rare_ones = False
        return self._keys


BROKER_KEYS = BrokerKeys()
