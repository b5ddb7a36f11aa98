"""Listeners: NAME://HOST:PORT addresses, the security protocol of each name, and the ones that are opened.

As in Kafka, names are converted to upper case, and `listener.security.protocol.map` defines their security protocols.
Listeners in `controller.listener.names` belong to KRaft's controller and are not opened.
"""

from __future__ import annotations

from kcore.config.definition import ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcore.config.typed_config import TypedConfig

PROTOCOL_MAP = "listener.security.protocol.map"
ANY_HOSTS = ("", "0.0.0.0", "::")


class Endpoint:
    """One listener. An empty host means all interfaces, port 0 a free port."""

    __slots__ = ("host", "name", "port", "security_protocol")

    def __init__(self, name: str, host: str, port: int, security_protocol: str) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol

    def __str__(self) -> str:
        return f"{self.name}://{bracketed(self.host)}:{self.port}"

    def __repr__(self) -> str:
        return f"Endpoint({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Endpoint) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str, int, str]:
        return (self.name, self.host, self.port, self.security_protocol)


def bracketed(host: str) -> str:
    """A host for HOST:PORT: an IPv6 address gets brackets."""
    return f"[{host}]" if ":" in host else host


def parse_endpoint(text: str, protocols: dict[str, str], setting: str) -> Endpoint:
    """Parses NAME://HOST:PORT. ConfigException with the name of the setting."""
    name, separator, address = text.partition("://")
    host, colon, port_text = address.rpartition(":")
    bracket_free = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not (separator and name and colon and port_text.isascii() and port_text.isdigit()) or int(port_text) > 65535:
        reason = (
            f"port {port_text} is not a number from 0 to 65535" if separator and name and colon else "not a listener"
        )
        raise ConfigException(f"{setting}: {text!r}: {reason}. Write it as NAME://HOST:PORT", setting)
    if ":" in host and bracket_free == host:
        raise ConfigException(
            f"{setting}: {host} is an IPv6 address. Write it in brackets, as in {name}://[{host}]:{port_text}", setting
        )
    listener = name.upper()
    protocol = protocols.get(listener)
    if protocol is None:
        raise ConfigException(
            f"{setting}: no security protocol is defined for listener {listener} in {PROTOCOL_MAP}",
            setting,
            PROTOCOL_MAP,
        )
    return Endpoint(listener, bracket_free, int(port_text), protocol)


def parse_protocol_map(items: Iterable[str]) -> dict[str, str]:
    """Parses NAME:PROTOCOL items: listener name -> security protocol."""
    from kcore.config.network_keys import SECURITY_PROTOCOLS

    protocols: dict[str, str] = {}
    for item in items:
        name, colon, protocol = item.partition(":")
        listener = name.strip().upper()
        protocol = protocol.strip().upper()
        if not colon or not listener or protocol not in SECURITY_PROTOCOLS:
            raise ConfigException(f"{PROTOCOL_MAP}: {item!r} is not an entry. Write it as NAME:PROTOCOL", PROTOCOL_MAP)
        if listener in protocols:
            raise ConfigException(f"{PROTOCOL_MAP}: {listener} is listed twice", PROTOCOL_MAP)
        protocols[listener] = protocol
    return protocols


class Listeners:
    """The opened listeners, the addresses advertised to clients, and the inter-broker listener."""

    __slots__ = ("advertised", "endpoints", "inter_broker_name")

    def __init__(self, config: TypedConfig) -> None:
        protocols = parse_protocol_map(config.texts(PROTOCOL_MAP))
        controller_names = {name.upper() for name in config.texts("controller.listener.names")}
        if not config.is_set(PROTOCOL_MAP):
            for name in controller_names:
                protocols.setdefault(name, "PLAINTEXT")
        stated = [parse_endpoint(text, protocols, "listeners") for text in config.texts("listeners")]
        _check_unique(stated)
        self.endpoints = [endpoint for endpoint in stated if endpoint.name not in controller_names]
        if not self.endpoints:
            raise ConfigException(
                "listeners: all listeners are in controller.listener.names. Add one for clients",
                "listeners",
                "controller.listener.names",
            )
        for endpoint in self.endpoints:
            if endpoint.security_protocol != "PLAINTEXT":
                raise ConfigException(
                    f"listener {endpoint.name}: security protocol {endpoint.security_protocol} is not supported. "
                    "Use PLAINTEXT",
                    "listeners",
                    PROTOCOL_MAP,
                )
        self.advertised = self._parse_advertised(config, protocols, controller_names)
        self.inter_broker_name = self._choose_inter_broker(config)

    def _parse_advertised(
        self, config: TypedConfig, protocols: dict[str, str], controller_names: set[str]
    ) -> dict[str, Endpoint]:
        """Listener name -> advertised address. Empty: clients get the address that they connected to."""
        opened = {endpoint.name for endpoint in self.endpoints}
        advertised: dict[str, Endpoint] = {}
        for text in config.texts("advertised.listeners"):
            endpoint = parse_endpoint(text, protocols, "advertised.listeners")
            if endpoint.name in controller_names:
                continue
            if endpoint.name not in opened:
                raise ConfigException(
                    f"advertised.listeners: {endpoint.name} is not one of the listeners", "advertised.listeners"
                )
            if endpoint.host in ANY_HOSTS[1:]:
                raise ConfigException(
                    f"advertised.listeners cannot use the nonroutable meta-address {endpoint.host}. "
                    "Use a routable IP address.",
                    "advertised.listeners",
                )
            if endpoint.name in advertised:
                raise ConfigException(f"advertised.listeners: {endpoint.name} is listed twice", "advertised.listeners")
            advertised[endpoint.name] = endpoint
        return advertised

    def _choose_inter_broker(self, config: TypedConfig) -> str:
        name = config.text("inter.broker.listener.name")
        if name is not None:
            if config.is_set("security.inter.broker.protocol"):
                raise ConfigException(
                    "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
                    "inter.broker.listener.name",
                    "security.inter.broker.protocol",
                )
            if all(endpoint.name != name.upper() for endpoint in self.endpoints):
                raise ConfigException(
                    f"inter.broker.listener.name: {name} is not one of the listeners", "inter.broker.listener.name"
                )
            return name.upper()
        protocol = config.text("security.inter.broker.protocol")
        for endpoint in self.endpoints:
            if endpoint.name == protocol:
                return endpoint.name
        return self.endpoints[0].name


def _check_unique(endpoints: list[Endpoint]) -> None:
    """Checks for unique names and ports. An IPv4 and an IPv6 address may share a port."""
    names = set()
    ports: dict[int, Endpoint] = {}
    for endpoint in endpoints:
        if endpoint.name in names:
            raise ConfigException(f"Each listener must have a different name, listeners: {endpoint.name}", "listeners")
        names.add(endpoint.name)
        if endpoint.port == 0:
            continue
        other = ports.setdefault(endpoint.port, endpoint)
        if other is not endpoint and (":" in other.host) == (":" in endpoint.host):
            raise ConfigException(f"Each listener must have a different port, listeners: {endpoint.port}", "listeners")
