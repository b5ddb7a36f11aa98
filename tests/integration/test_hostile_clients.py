"""Hostile clients against a real broker: each costs its own connection, bounded memory and one log line.

The log line names the client, the thing and the rule. Between and during the attacks a bystander produces and fetches.
"""

from __future__ import annotations

import re
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.protocol import apis
from kcore.protocol.headers import encode_request
from kcore.record.compression import compress_bytes
from kcore.record.encoder import encode_batch
from kcore.testing.embedded_broker import LOG_LOOK_INTERVAL_S
from tests.broker_process import BrokerProcess
from tests.raw_client import TIMEOUT_S, RawClient
from tests.unit.record import batches

MIB = 1 << 20
# What the broker may grow by for good, and at its peak for as long as it looks at something.
KEPT_BYTES, PEAK_BYTES = 64 * MIB, 400 * MIB
INVALID_RECORD = 87
ERRORS_OF_BAD_RECORDS = {2, 10, 42, 76, 87}


class Victim:
    """A broker, somebody whom it serves meanwhile, and what it costs."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        self.bystander = RawClient(broker.port, client_id="bystander")
        self.bystander.create_topic("orders")
        self.bystander.create_topic("bombed")
        self.produced = 0
        self.attacks = 0
        self.serves_others()

    def serves_others(self) -> None:
        """A record goes in and comes out."""
        self.produced += 1
        value = b"record %d" % self.produced
        assert produce(self.bystander, "orders", encode_batch([(None, value, [], 1)])) == 0
        fetch = {
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": MIB,
            "topics": [
                {
                    "topic": "orders",
                    "partitions": [
                        {"partition": 0, "fetch_offset": self.produced - 1, "partition_max_bytes": MIB},
                    ],
                }
            ],
        }
        response = self.bystander.request(apis.FETCH, 11, fetch)
        assert value in bytes(response.responses[0].partitions[0].records)

    def memory(self, field: str = "VmRSS") -> int:
        status = Path(f"/proc/{self.broker.pid}/status").read_text()
        found = re.search(rf"{field}:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024

    def said(self, since: int) -> list[str]:
        return self.broker.log()[since:].splitlines()

    def lines_about(self, *names: str, since: int = 0) -> list[str]:
        """What the broker has logged, behind so many characters, with one of these names in it, once it has."""
        deadline = time.monotonic() + TIMEOUT_S
        while not (lines := [line for line in self.said(since) if any(name in line for name in names)]):
            assert time.monotonic() < deadline, f"no line about {names}:\n{self.broker.log()[-4000:]}"
            time.sleep(LOG_LOOK_INTERVAL_S)
        return lines


def produce(client: RawClient, topic: str, records: bytes, version: int = 9) -> int:
    """The partition's error code."""
    rows = [{"index": 0, "records": records}]
    fields = {"acks": 1, "timeout_ms": 1000, "topic_data": [{"name": topic, "partition_data": rows}]}
    return int(client.request(apis.PRODUCE, version, fields).responses[0].partition_responses[0].error_code)


@pytest.fixture(scope="module", params=["true", "false"], ids=["native", "handlers"])
def victim(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    overrides = {"kcli.fast.path.enable": request.param, "connections.max.idle.ms": "600000"}
    with BrokerProcess(tmp_path_factory.mktemp("hostile") / "data", overrides) as broker:
        victim = Victim(broker)
        yield victim
        victim.serves_others()
        victim.bystander.socket.close()
        assert broker.is_running


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def header(key: int, version: int, client_id: bytes = b"mallory", tags: bytes = b"") -> bytes:
    return struct.pack(">hhih", key, version, 7, len(client_id)) + client_id + tags


TLS_HELLO = bytes.fromhex("16030102000100") + b"\x01\xfc\x03\x03" + bytes(508)
TOO_LARGE = "larger than socket.request.max.bytes"
NOT_SERVED = "API key {} version {} is not served"

# What is sent, and the rule that the log line names.
BREACHES = {
    "garbage": (bytes(range(255, 0, -1)), "bytes is no request"),
    "two GiB": (struct.pack(">i", 2**31 - 1), TOO_LARGE),
    "one byte too long": (struct.pack(">i", 104_857_601), TOO_LARGE),
    "negative length": (struct.pack(">i", -2), "a request of -2 bytes is no request"),
    "no length": (bytes(8), "a request of 0 bytes is no request"),
    "HTTP": (b"GET /topics HTTP/1.1\r\nHost: broker\r\n\r\n", TOO_LARGE),
    "TLS hello": (TLS_HELLO, TOO_LARGE),
    "half a header": (framed(b"\x00\x03\x00\x01\x00"), "malformed"),
    "client id beyond the frame": (framed(struct.pack(">hhih", 3, 1, 7, 32767) + b"mallory"), "malformed"),
    "client id of negative length": (framed(struct.pack(">hhih", 3, 1, 7, -7)), "malformed"),
    "tagged fields of the header without end": (
        framed(header(18, 3, tags=b"\xff\xff\xff\xff\x0f" + b"\0\0" * 99)),
        "malformed",
    ),
    "unknown API": (framed(header(999, 0)), NOT_SERVED.format(999, 0)),
    "negative API": (framed(header(-3, 0)), NOT_SERVED.format(-3, 0)),
    "unknown version": (framed(header(3, 99, tags=b"\0")), NOT_SERVED.format(3, 99)),
    "negative version": (framed(header(3, -1)), NOT_SERVED.format(3, -1)),
    "Produce below 3": (framed(header(0, 2) + bytes(20)), NOT_SERVED.format(0, 2)),
    "a million elements announced": (
        framed(header(3, 1) + struct.pack(">i", 1_000_000)),
        "1000000 elements are announced",
    ),
    "two billion elements announced": (framed(header(3, 1) + struct.pack(">i", 2**31 - 1)), "elements are announced"),
    "arrays within arrays": (
        framed(header(19, 2) + struct.pack(">ih", 1, 1) + b"t" + struct.pack(">ihi", 1, 1, 10**6) + bytes(9)),
        "topics[0].assignments: 1000000 elements are announced",
    ),
    "tagged fields without end": (
        framed(header(18, 3, tags=b"\0") + b"\x02a\x02b" + b"\xff\xff\xff\xff\x0f"),
        "malformed",
    ),
    "tagged field beyond the frame": (framed(header(18, 3, tags=b"\0") + b"\x02a\x02b\x01\x63\x7f"), "tagged field 99"),
    "text that is no UTF-8": (framed(header(3, 1) + struct.pack(">ih", 1, 2) + b"\xff\xfe"), "the text is not UTF-8"),
    "Produce of null topics": (
        framed(header(0, 9, tags=b"\0") + b"\0" + struct.pack(">hi", 1, 1) + b"\0"),
        "null is not allowed",
    ),
    "Fetch of a million topics": (
        framed(header(1, 4) + struct.pack(">iiiibi", -1, 0, 1, 1, 0, 10**6)),
        "1000000 elements are announced",
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_breach_costs_its_own_connection_and_one_line(victim: Victim, name: str) -> None:
    stream, rule = BREACHES[name]
    before = victim.memory()
    victim.attacks += 1
    client_id = f"mal{victim.attacks:04d}"
    # An attacker before may have had the same port.
    since = len(victim.broker.log())
    with RawClient(victim.broker.port) as attacker:
        host, port = attacker.socket.getsockname()
        attacker.socket.sendall(stream.replace(b"mallory", client_id.encode()))
        victim.serves_others()
        assert attacker.is_closed_by_broker()
    (line,) = victim.lines_about(f"{host}:{port}", f"client '{client_id}' at {host}", since=since)
    assert " WARN " in line
    assert rule in line
    assert len(line) < 400
    assert victim.memory() - before < KEPT_BYTES


def test_giant_client_id_does_not_flood_the_log(victim: Victim) -> None:
    with RawClient(victim.broker.port) as attacker:
        attacker.socket.sendall(framed(header(998, 5, b"m" * 32767)))
        assert attacker.is_closed_by_broker()
    victim.broker.wait_for_log("API key 998 version 5")
    (line,) = [line for line in victim.broker.log().splitlines() if "API key 998 version 5" in line]
    assert len(line) < 1000
    victim.serves_others()


def test_silence_within_frames_holds_nobody_up(victim: Victim) -> None:
    """A hundred begin frames of 100 MiB, or send a request byte by byte, and say no more."""
    before = victim.memory()
    silent = [socket.create_connection(("127.0.0.1", victim.broker.port)) for _ in range(100)]
    whole = framed(encode_request(apis.API_VERSIONS, 0, 5, "slow", {}))
    for number, attacker in enumerate(silent):
        attacker.sendall(struct.pack(">i", 100 * MIB) + b"x" if number % 2 else whole[:1])
    victim.serves_others()
    for byte in whole[1:]:
        for attacker in silent[::2]:
            attacker.sendall(bytes((byte,)))
        victim.serves_others()
    # The slow ones have sent a whole request in the end, and are answered.
    for attacker in silent[::2]:
        attacker.settimeout(60)
        assert attacker.recv(8)[4:] == struct.pack(">i", 5)
    assert victim.memory() - before < KEPT_BYTES
    for attacker in silent:
        attacker.close()
    victim.serves_others()


def test_request_of_millions_of_elements(victim: Victim) -> None:
    """They are really there, 20 million in 40 MB: as objects they would take gigabytes, and hold the interpreter."""
    count = 20_000_000
    before, peak = victim.memory(), victim.memory("VmHWM")
    stream = framed(header(3, 1, b"million") + struct.pack(">i", count) + b"\0\0" * count)
    with RawClient(victim.broker.port) as attacker:
        attacker.socket.settimeout(60)
        attacker.socket.sendall(stream)
        victim.serves_others()
        assert attacker.is_closed_by_broker()
    (line,) = victim.lines_about("client 'million'")
    assert "topics: more than 500000 elements in all (kcli.request.max.elements)" in line
    victim.serves_others()
    assert victim.memory() - before < KEPT_BYTES
    assert victim.memory("VmHWM") - peak < PEAK_BYTES


def test_request_of_as_many_elements_as_there_may_be(victim: Victim) -> None:
    """Each is answered, by an error."""
    count = 100_000
    with RawClient(victim.broker.port) as client:
        names = b"".join(b"\0\5%05d" % number for number in range(count))
        client.socket.sendall(framed(header(3, 1) + struct.pack(">i", count) + names))
        answer = client.receive_frame()
        assert answer is not None
        assert len(answer) > count


def lying(**fields: int) -> bytes:
    return batches.patched(encode_batch([(b"k", b"v", [], 1)] * 3), **fields)


LIES = {
    "more records than there are": lying(record_count=4, last_offset_delta=3),
    "two billion records": lying(record_count=2**31 - 1, last_offset_delta=2**31 - 2),
    "fewer records than there are": lying(record_count=2, last_offset_delta=1),
    "a negative count": lying(record_count=-1),
    "offsets and count that differ": lying(last_offset_delta=7),
    "a length beyond the records": lying(length=2**31 - 20),
    "a negative length": lying(length=-1),
    "a length within the header": lying(length=20),
    "a wrong checksum": lying(crc=1),
    "an unknown magic": lying(magic=9),
    "an old magic": lying(magic=1),
    "an unknown codec": lying(attributes=7),
    "a codec that it is not of": lying(attributes=4),
    "a control batch": lying(attributes=0x20),
    "a record longer than its batch": batches.batch(b"\xfe\xff\xff\xff\x0f" + bytes(20), 1),
    "a header count without headers": batches.batch(b"\x12\0\0\0\x01\x01\xfe\xff\xff\x0f", 1),
    "nothing": b"",
    "half a header": lying()[:30],
}


@pytest.mark.parametrize("name", LIES)
def test_lying_batch_is_refused_and_the_connection_goes_on(victim: Victim, name: str) -> None:
    before = victim.memory()
    with RawClient(victim.broker.port, client_id="mallory") as attacker:
        assert produce(attacker, "bombed", LIES[name]) in ERRORS_OF_BAD_RECORDS
        assert attacker.request(apis.API_VERSIONS, 0, {}).error_code == 0
    victim.serves_others()
    assert victim.memory() - before < KEPT_BYTES


@pytest.mark.parametrize("native", ["true", "false"])
def test_cut_batch_of_an_unknown_codec_is_refused(native: str, tmp_path: Path) -> None:
    """The Python path takes batches of unknown codecs apart before the log sees them."""
    overrides = {"kcli.fast.path.enable": native}
    with BrokerProcess(tmp_path / "data", overrides) as broker, RawClient(broker.port) as client:
        client.create_topic("bombed")
        assert produce(client, "bombed", lying(attributes=7)[:-5]) == INVALID_RECORD


def gzip_bomb(size: int) -> bytes:
    coder = zlib.compressobj(6, zlib.DEFLATED, 31)
    piece = bytes(MIB)
    return b"".join(coder.compress(piece) for _ in range(size // MIB)) + coder.flush()


BOMBS = {
    "gzip": lambda: (1, gzip_bomb(300 * MIB)),
    # As much as the codec can make of a batch's 1 MiB.
    "snappy": lambda: (2, compress_bytes(2, bytes(18 * MIB))),
    "lz4": lambda: (3, compress_bytes(3, bytes(200 * MIB))),
    "zstd": lambda: (4, compress_bytes(4, bytes(300 * MIB))),
}


@pytest.mark.parametrize("codec", BOMBS)
def test_decompression_bomb(victim: Victim, codec: str) -> None:
    number, payload = BOMBS[codec]()
    assert len(payload) < 1_040_000
    before, peak = victim.memory(), victim.memory("VmHWM")
    with RawClient(victim.broker.port, client_id="mallory") as attacker:
        attacker.socket.settimeout(60)
        assert produce(attacker, "bombed", batches.batch(payload, 1, attributes=number)) in ERRORS_OF_BAD_RECORDS
        assert attacker.request(apis.API_VERSIONS, 0, {}).error_code == 0
    victim.serves_others()
    assert victim.memory() - before < KEPT_BYTES
    assert victim.memory("VmHWM") - peak < PEAK_BYTES
