"""Applies the configured connection limits to the broker and its listeners (SocketServer's reconfigurables).

`listener.name.NAME.max.connections` and `listener.name.NAME.max.connection.creation.rate` limit one listener, in
addition to the limits of the broker. All limits may change while the broker runs. A listener that has room again
continues at once. Connections over a lowered limit are closed, those idle for longest first.
"""

from __future__ import annotations

from kcore.config.definition import INT_MAX
from kcore.logger import WARN, get_logger
from kcore.metadata.image import BROKER_RESOURCE
from kcore.metadata.quota_entity import CONNECTION_CREATION_RATE, IP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcore.config.broker import BrokerConfig
    from kcore.metadata.image import MetadataDelta, MetadataImage
    from kcore.network.connection_quotas import ConnectionQuotas

LOG = get_logger("kcore.server.broker")

MAX_CONNECTIONS = "max.connections"
CREATION_RATE = "max.connection.creation.rate"


class ConnectionLimits:
    """Subscribe `publish` to the metadata cache after the subscriber that updates the configuration."""

    __slots__ = ("_addresses", "_config", "_quotas")

    def __init__(self, config: BrokerConfig, quotas: ConnectionQuotas) -> None:
        self._config = config
        self._quotas = quotas
        # By host with a rate. Each host is resolved once and kept while its rate stays set.
        self._addresses: dict[str, list[str]] = {}
        self.apply()

    def publish(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Applies changed limits before the request that changed them is answered."""
        if any(change.resource_type == BROKER_RESOURCE for change in delta.configs_changed):
            self.apply()
        if any(change.entity.has(IP) for change in delta.quotas_changed):
            self._apply_address_rates(image)

    def apply(self) -> None:
        """Applies the limits of the configuration."""
        config = self._config
        listeners = config.listeners
        names = [endpoint.name for endpoint in listeners.endpoints]
        # With several listeners, the inter-broker listener is protected from connections on the others.
        protected = names.index(listeners.inter_broker_name) if len(names) > 1 else -1
        self._quotas.set_limits(
            config.number(MAX_CONNECTIONS),
            [config.number_of_listener(name, MAX_CONNECTIONS, INT_MAX) for name in names],
            config.number("max.connections.per.ip"),
            list(self._address_overrides()),
            protected,
        )
        self._quotas.set_rates(
            bound(config.number(CREATION_RATE)),
            [bound(config.number_of_listener(name, CREATION_RATE, INT_MAX)) for name in names],
        )

    def _address_overrides(self) -> Iterator[tuple[str, int]]:
        for item in self._config.texts("max.connections.per.ip.overrides"):
            host, _, count = item.rpartition(":")
            for address in addresses_of(host.strip().removeprefix("[").removesuffix("]")):
                yield address, int(count)

    def _apply_address_rates(self, image: MetadataImage) -> None:
        default = None
        overrides = []
        known, self._addresses = self._addresses, {}
        for entity, quotas in image.client_quotas.items():
            rate = quotas.get(CONNECTION_CREATION_RATE)
            if rate is None:
                continue
            name = entity.name(IP)
            if name is None:
                default = rate
            else:
                self._addresses[name] = known.get(name) or addresses_of(name)
                overrides += [(address, rate) for address in self._addresses[name]]
        self._quotas.set_address_rates(default, overrides)


def bound(rate: int) -> float | None:
    """A rate limit for the network layer. INT_MAX, the default, becomes None: no limit."""
    return None if rate == INT_MAX else float(rate)


def addresses_of(host: str) -> list[str]:
    """The addresses of a host name or an address, sorted. Logs a warning and returns none if it cannot be resolved."""
    import socket

    try:
        found = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError) as error:
        cause = "a bound on connections without effect"
        message = "Bounds on connections from %s have no effect: it cannot be resolved (%s)"
        LOG.limited(WARN, host, cause, message, host, error)
        return []
    return sorted(found)
