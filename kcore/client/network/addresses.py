"""Bootstrap servers: parsing, and `client.dns.lookup`.

`use_all_dns_ips` leaves names unresolved; connecting tries all addresses of a name. With
`resolve_canonical_bootstrap_servers_only` (KIP-235), every address of a bootstrap name becomes a server of its own,
with the canonical name of the address, as Kerberos needs it. Source: Kafka's ClientUtils and ClientDnsLookup.
"""

from __future__ import annotations

from kcore.client.errors import InvalidSetting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Server = tuple[str, int]

DEFAULT_PORT = 9092
USE_ALL_DNS_IPS = "use_all_dns_ips"
RESOLVE_CANONICAL = "resolve_canonical_bootstrap_servers_only"


def parse_servers(servers: str | Sequence[str]) -> list[Server]:
    """Parse `host:port,host:port` or a list of servers. IPv6 addresses are in brackets. Default port: 9092."""
    names = servers.split(",") if isinstance(servers, str) else list(servers)
    parsed = []
    for name in (name.strip() for name in names):
        host, colon, port = name.rpartition(":")
        if not colon or name.endswith("]"):
            host, port = name, str(DEFAULT_PORT)
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise InvalidSetting(f"{name!r}: not a server address. Write it as HOST:PORT")
        parsed.append((host.strip("[]"), int(port)))
    return parsed


def written(host: str, port: int) -> str:
    """Return a server as text."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def bootstrap_addresses(servers: str | Sequence[str], dns_lookup: str = USE_ALL_DNS_IPS) -> list[Server]:
    """Return the bootstrap servers without duplicates."""
    parsed = parse_servers(servers)
    if dns_lookup == RESOLVE_CANONICAL:
        parsed = [server for host, port in parsed for server in _canonical(host, port)]
    elif dns_lookup != USE_ALL_DNS_IPS:
        raise InvalidSetting(f"client.dns.lookup={dns_lookup}: must be {USE_ALL_DNS_IPS} or {RESOLVE_CANONICAL}")
    return list(dict.fromkeys(parsed))


def _canonical(host: str, port: int) -> list[Server]:
    """Return a server for each address of a host, with the address's canonical name if it has one."""
    import socket

    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InvalidSetting(f"bootstrap server {written(host, port)}: {error.strerror}") from None
    return [(_name_of(str(address[0])), port) for *_, address in found]


def _name_of(address: str) -> str:
    import socket

    try:
        return socket.gethostbyaddr(address)[0]
    except OSError:
        return address
