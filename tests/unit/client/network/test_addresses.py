"""Bootstrap servers as people write them, and what client.dns.lookup makes of them."""

from __future__ import annotations

import socket

import pytest

from kcore.client.errors import InvalidSetting
from kcore.client.network.addresses import RESOLVE_CANONICAL, bootstrap_addresses, parse_servers, written


@pytest.mark.parametrize(
    ("servers", "parsed"),
    [
        ("broker:9093", [("broker", 9093)]),
        ("a:1, b:2 ,c", [("a", 1), ("b", 2), ("c", 9092)]),
        (["a:1", "b"], [("a", 1), ("b", 9092)]),
        ("[::1]:9093,[fe80::1]", [("::1", 9093), ("fe80::1", 9092)]),
    ],
)
def test_servers_are_read(servers: str | list[str], parsed: list[tuple[str, int]]) -> None:
    assert parse_servers(servers) == parsed


@pytest.mark.parametrize("servers", ["", "a:", "a:b", ":9092", "a:0", "a:65536", "a:-1", "a:9092,"])
def test_what_is_no_server_is_named(servers: str) -> None:
    with pytest.raises(InvalidSetting, match="Write it as HOST:PORT"):
        parse_servers(servers)


def test_servers_are_written_as_they_are_read() -> None:
    for servers in ("broker:9093", "[::1]:9093"):
        assert written(*parse_servers(servers)[0]) == servers


def test_a_server_that_is_named_twice_is_asked_once() -> None:
    assert bootstrap_addresses("a:1,b:2,a:1") == [("a", 1), ("b", 2)]


def test_canonical_names_are_a_server_for_each_address(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"10.0.0.1": "one.example.com", "10.0.0.2": "two.example.com"}

    def addresses(host: str, port: int, type: int) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        assert host == "brokers.example.com"
        return [(socket.AF_INET, type, 6, "", (address, port)) for address in [*names, "10.0.0.3"]]

    def name(address: str) -> tuple[str, list[str], list[str]]:
        if address not in names:
            raise socket.herror(1, "Unknown host")
        return names[address], [], [address]

    monkeypatch.setattr(socket, "getaddrinfo", addresses)
    monkeypatch.setattr(socket, "gethostbyaddr", name)
    servers = bootstrap_addresses("brokers.example.com:9093", RESOLVE_CANONICAL)
    assert servers == [("one.example.com", 9093), ("two.example.com", 9093), ("10.0.0.3", 9093)]


def test_a_bootstrap_name_that_nobody_has_is_an_invalid_setting() -> None:
    with pytest.raises(InvalidSetting, match=r"^bootstrap server nobody\.invalid:9092: "):
        bootstrap_addresses("nobody.invalid:9092", RESOLVE_CANONICAL)


def test_another_way_to_look_names_up_is_refused() -> None:
    with pytest.raises(InvalidSetting, match=r"client\.dns\.lookup=default: must be use_all_dns_ips or"):
        bootstrap_addresses("a:1", "default")
