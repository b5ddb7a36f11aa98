"""The load generator can be believed: its requests are Kafka's, it counts what it sends, it notices wrong answers."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from kio.schema.fetch.v12.request import FetchRequest
from kio.schema.fetch.v12.request import RequestHeader as FetchHeader
from kio.schema.produce.v9.request import ProduceRequest
from kio.schema.produce.v9.request import RequestHeader as ProduceHeader
from kio.serial import entity_reader

from perf import frames
from perf.processes import Floor, build_load, run_load

Answer = Callable[[bytes], bytes]


def decode(frame: bytes, *entities: type) -> list[Any]:
    """The frame's header and body as kio reads them; nothing may be left over."""
    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    position, found = 4, []
    for entity in entities:
        value, used = entity_reader(entity)(frame, position)
        found.append(value)
        position += used
    assert position == len(frame)
    return found


def test_produce_is_what_kio_reads() -> None:
    batch, count = frames.batch_of_size(65536, 1_700_000_000_000)
    load = frames.produce("flights", 3, batch)
    header, request = decode(load.frame, ProduceHeader, ProduceRequest)
    assert (header.client_id, request.acks) == ("kload", 1)
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    assert (topic.name, partition.index, bytes(partition.records)) == ("flights", 3, batch)
    parsed = DefaultRecordBatch(bytearray(batch))
    assert parsed.validate_crc()
    assert len(list(parsed)) == count


def test_fetch_is_what_kio_reads_and_its_offset_stands_where_it_says() -> None:
    load = frames.fetch("flights", 3, max_bytes=65536, max_wait_ms=250)
    assert load.offset_position is not None
    frame = bytearray(load.frame)
    struct.pack_into(">q", frame, load.offset_position, 123456789)
    _, request = decode(bytes(frame), FetchHeader, FetchRequest)
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (topic.topic, partition.partition, partition.fetch_offset) == ("flights", 3, 123456789)
    assert partition.partition_max_bytes == 65536


@pytest.fixture(scope="module")
def built() -> None:
    build_load()


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], int]]:
    """Starts a server of one connection that answers each frame, without its length, as a function says."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads = []

    def answer_frames(answer: Answer) -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as requests:
            while head := requests.read(4):
                frame = requests.read(struct.unpack(">i", head)[0])
                try:
                    connection.sendall(answer(frame))
                except OSError:
                    return

    def start(answer: Answer) -> int:
        thread = threading.Thread(target=answer_frames, args=(answer,))
        thread.start()
        threads.append(thread)
        return int(listener.getsockname()[1])

    yield start
    for thread in threads:
        thread.join()
    listener.close()


def answer_to(frame: bytes, body: bytes, shift: int = 0) -> bytes:
    """An answer with its length and the request's correlation id, or the one `shift` later."""
    correlation = struct.unpack_from(">i", frame, 4)[0] + shift
    return struct.pack(">ii", len(body) + 4, correlation) + body


@pytest.mark.needs("cc")
@pytest.mark.usefixtures("built")
def test_floor_keeps_every_byte_and_hands_it_back(tmp_path: Path) -> None:
    load = frames.produce("t", 0, frames.batch_of_size(16384, 0)[0])
    stored = tmp_path / "stored"
    floor = Floor("produce", stored)
    try:
        report = run_load(tmp_path, floor.port, frames.Load(load.frame), requests=500, connections=1, depth=8)
    finally:
        floor.stop()
    assert report["requests"] == 500
    assert report["bytes_sent"] == 500 * len(load.frame) == stored.stat().st_size
    with stored.open("rb") as file:
        for expected in range(500):
            written = file.read(len(load.frame))
            assert written[8:12] == struct.pack(">i", expected)
            assert written[12:] == load.frame[12:]
    floor = Floor("fetch", stored, "16384")
    try:
        report = run_load(tmp_path, floor.port, frames.Load(load.frame), requests=300, connections=3, depth=4)
    finally:
        floor.stop()
    assert report["bytes_received"] == 300 * (64 + 16384)


@pytest.mark.needs("cc")
@pytest.mark.usefixtures("built")
def test_offsets_walk_and_begin_again(tmp_path: Path, serve: Callable[[Answer], int]) -> None:
    load = frames.fetch("t", 0, max_bytes=100)
    assert load.offset_position is not None
    offset_position = load.offset_position - 4
    asked = []

    def answer(frame: bytes) -> bytes:
        asked.append(struct.unpack_from(">q", frame, offset_position)[0])
        return answer_to(frame, bytes(60))

    walk = {"offset_start": 10, "offset_step": 5, "offset_end": 20}
    report = run_load(tmp_path, serve(answer), load, requests=7, **walk)
    assert asked == [10, 15, 10, 15, 10, 15, 10]
    assert report["requests"] == 7
    assert report["latency_us"]["p50"] <= report["latency_us"]["p99"] <= report["latency_us"]["max"]


@pytest.mark.needs("cc")
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda frame: answer_to(frame, b"\0" + struct.pack(">h", 3) + bytes(20)), "the broker answered error 3"),
        (lambda frame: answer_to(frame, bytes(20), shift=1), "answers out of order"),
        (lambda frame: answer_to(frame, b""), "has no error code"),
    ],
    ids=["error code", "order", "short answer"],
)
def test_wrong_answers_are_noticed(
    tmp_path: Path, serve: Callable[[Answer], int], answer: Answer, complaint: str
) -> None:
    load = frames.Load(frames.api_versions(), (9,))
    with pytest.raises(RuntimeError, match=complaint):
        run_load(tmp_path, serve(answer), load, requests=10)
