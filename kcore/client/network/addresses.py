"""Bootstrap servers: how they are written, and what `client.dns.lookup` makes of them.

`use_all_dns_ips` leaves names as they are: whoever connects tries all addresses of a name. With
`resolve_canonical_bootstrap_servers_only` (KIP-235) every address of a bootstrap name is a server of its own, under the
name that the address has, as Kerberos wants it. Source: Kafka's ClientUtils and ClientDnsLookup.
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
    """`host:port,host:port` or a list of such; IPv6 addresses stand in brackets."""
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
    """A server as people write it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def bootstrap_addresses(servers: str | Sequence[str], dns_lookup: str = USE_ALL_DNS_IPS) -> list[Server]:
    """The servers to ask first, each once."""
    parsed = parse_servers(servers)
    if dns_lookup == RESOLVE_CANONICAL:
        parsed = [server for host, port in parsed for server in _canonical(host, port)]
    elif dns_lookup != USE_ALL_DNS_IPS:
        raise InvalidSetting(f"client.dns.lookup={dns_lookup}: must be {USE_ALL_DNS_IPS} or {RESOLVE_CANONICAL}")
    return list(dict.fromkeys(parsed))


def _canonical(host: str, port: int) -> list[Server]:
    """A server for each address of a host, under the address's own name where it has one."""
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
