"""One seed against two brokers, the native path and the Python path: answers, connections and files must be equal.

Each mutated Produce, Fetch and Heartbeat request goes to both, in the same order, over one connection at a time. What
may differ is left out before the comparison: ids that each broker gave out, throttle times, times of append.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from kcore.protocol import apis
from kcore.protocol.headers import decode_response
from tests.fuzz.requests.broker import FuzzedBroker, complaint
from tests.fuzz.requests.findings import Finding
from tests.fuzz.requests.judgement import may_wait
from tests.fuzz.requests.lane import Lane
from tests.fuzz.requests.source import Request, RequestSource
from tests.fuzz.requests.world import TOPICS, Learner, World
from tests.raw_client import RawClient
from tests.unit.record.batches import FIELDS, HEADER, field

KEYS = (apis.PRODUCE.key, apis.FETCH.key, apis.HEARTBEAT.key)
REQUESTS_OF_A_SEED = 1000
PIECE = 24
WINDOW = 240
# A request that may wait is asked for its answer this long on both brokers: both must have one, or neither.
WAIT_S = 0.3
LEFT_OUT = frozenset({"throttle_time_ms", "session_id", "log_append_time_ms"})
LOG_APPEND_TIME = 0x08
# In messages about timestamps: the range moves with each broker's clock.
RANGE_OF_TIMES = re.compile(r"within \[-?\d+, -?\d+\]")
# Its records have times of the brokers' own.
INTERNAL_TOPIC = b"__consumer_offsets"
# The base offset and the length.
LENGTH_PREFIX_BYTES = 12
STAMPED_FIELDS = ("max_timestamp", "crc")


class Side:
    """One of the two brokers."""

    def __init__(self, broker: FuzzedBroker) -> None:
        self.broker = broker
        self.client = RawClient(broker.port, client_id="checker")
        self.lane = Lane(broker.port, broker.build.patience_s, keeps_answers=True)

    def learn(self, seed: int) -> World:
        self.world = Learner(self.client, seed, with_consumer_groups=False).learn()
        return self.world

    def exchange(self, requests: list[Request]) -> list[tuple[Request, bytes | None]]:
        """What came of each: an answer, no answer (empty), a closed connection (None)."""
        lane = self.lane
        lane.answers = []
        lane.send(requests)
        lane.collect()
        while lane.parked:
            parked = lane.parked.popleft()
            lane.answers.append((parked.request, parked.finish(WAIT_S) or b""))
        return lane.answers

    def close(self) -> None:
        self.client.socket.close()
        self.lane.close_all()


class PathComparison:
    """Compares two brokers with one seed after another."""

    def __init__(self, native: FuzzedBroker, python: FuzzedBroker) -> None:
        self.sides = (Side(native), Side(python))

    def run(self, seed: int, count: int = REQUESTS_OF_A_SEED, only: Sequence[int] | None = None) -> int:
        """How many requests were sent; raises Finding."""
        try:
            return self.compare(seed, range(count) if only is None else only)
        except Finding as finding:
            for side in self.sides:
                if side.broker.has_ended(within_s=0.5):
                    raise Finding(f"{side.broker.build.name}: {side.broker.death()}", finding.suspects) from finding
            raise

    def compare(self, seed: int, indexes: Sequence[int]) -> int:
        worlds = [side.learn(seed) for side in self.sides]
        if worlds[0].producer != worlds[1].producer:
            raise Finding(f"the brokers gave out producers {worlds[0].producer} and {worlds[1].producer}")
        self.ids = list(zip(worlds[0].ids(), worlds[1].ids(), strict=True))
        self.ids.append((worlds[0].session.id.to_bytes(4, "big"), worlds[1].session.id.to_bytes(4, "big")))
        sources = [RequestSource(seed, world, KEYS) for world in worlds]
        remaining = iter(indexes)
        sent = 0
        while window := list(islice(remaining, WINDOW)):
            pairs = [(sources[0].request(index), sources[1].request(index)) for index in window]
            pairs = [pair for pair in pairs if is_comparable(pair[0])]
            for piece in pieces(pairs):
                self.exchange(piece)
            self.compare_files([native for native, _ in pairs])
            self.look_at_logs([native for native, _ in pairs])
            sent += len(window)
        return sent

    def exchange(self, pairs: list[tuple[Request, Request]]) -> None:
        outcomes = [side.exchange([pair[number] for pair in pairs]) for number, side in enumerate(self.sides)]
        for (request, native), (_, python) in zip(*outcomes, strict=True):
            self.compare_answers(request, native, python)

    def compare_answers(self, request: Request, native: bytes | None, python: bytes | None) -> None:
        if native == python:
            return
        if not native or not python:
            shown = [name_of(answer) for answer in (native, python)]
            raise Finding(f"native path: {shown[0]}; Python path: {shown[1]}", [request])
        for one, other in self.ids:
            native = native.replace(one, other)
        if native == python:
            return
        api = apis.BY_KEY[request.api_key]
        told = [comparable(decode_response(api, request.version, answer)[1].to_dict()) for answer in (native, python)]
        if told[0] != told[1]:
            raise Finding(
                f"the answers of the native path and the Python path differ: {difference(told[0], told[1])}", [request]
            )

    def compare_files(self, window: list[Request]) -> None:
        for name, (partitions, _) in TOPICS.items():
            for index in range(partitions):
                kept = [log_bytes(side.broker.data, f"{name}-{index}") for side in self.sides]
                if kept[0] != kept[1]:
                    raise Finding(f"the segments of {name}-{index} differ: {first_difference(*kept)}", window)

    def look_at_logs(self, window: list[Request]) -> None:
        for side in self.sides:
            if found := complaint(side.broker.new_log()):
                raise Finding(f"an error in the log of the {side.broker.build.name}: {found}", window)

    def finish(self) -> None:
        """Stops the brokers, which must end in good order; raises Finding."""
        self.close()
        for side in self.sides:
            if wrong := side.broker.stop():
                raise Finding(f"{side.broker.build.name}: {wrong}")

    def close(self) -> None:
        for side in self.sides:
            side.close()


def is_comparable(request: Request) -> bool:
    """Whether two brokers must answer alike. Other APIs, by a mutated key, answer with ports and times."""
    return request.api_key in KEYS and INTERNAL_TOPIC not in request.payload


def pieces(pairs: list[tuple[Request, Request]]) -> list[list[tuple[Request, Request]]]:
    """What goes over a connection at once: a lie and a request that may wait are alone."""
    alone = [pair for pair in pairs if pair[0].is_lie or may_wait(pair[0])]
    others = [pair for pair in pairs if not (pair[0].is_lie or may_wait(pair[0]))]
    made = [others[first : first + PIECE] for first in range(0, len(others), PIECE)]
    return [*made, *([pair] for pair in alone)]


def name_of(answer: bytes | None) -> str:
    if answer is None:
        return "the connection is closed"
    return f"an answer, {answer[:200].hex()}" if answer else "no answer"


def comparable(value: object) -> object:
    """A decoded answer without what may differ."""
    if isinstance(value, dict):
        return {
            name: b"" if isinstance(item, memoryview | bytes) and name == "topic_id" else comparable(item)
            for name, item in value.items()
            if name not in LEFT_OUT
        }
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, memoryview | bytes | bytearray):
        return without_append_times(bytes(value))
    return RANGE_OF_TIMES.sub("within", value) if isinstance(value, str) else value


def difference(native: object, python: object, path: str = "") -> str:
    """The first place where two answers differ, and both values."""
    if isinstance(native, dict) and isinstance(python, dict):
        name = next(name for name in native if native[name] != python[name])
        return difference(native[name], python[name], f"{path}.{name}")
    if isinstance(native, list) and isinstance(python, list) and len(native) == len(python):
        at = next(at for at, pair in enumerate(zip(native, python, strict=True)) if pair[0] != pair[1])
        return difference(native[at], python[at], f"{path}[{at}]")
    return f"{path.removeprefix('.')}: {native!r} and {python!r}"


def without_append_times(records: bytes) -> bytes:
    """Batches with the fields that an append in LogAppendTime writes set to zero; the last batch may be cut."""
    out = bytearray(records)
    position = 0
    while position < len(out):
        head = bytes(out[position : position + HEADER.size])
        if len(head) < HEADER.size or field(head, "attributes") & LOG_APPEND_TIME:
            for name in STAMPED_FIELDS:
                at, kind = FIELDS[name]
                end = min(len(out), position + at + struct.calcsize(f">{kind}"))
                out[position + at : end] = bytes(max(0, end - position - at))
        if len(head) < HEADER.size:
            break
        position += LENGTH_PREFIX_BYTES + max(0, field(head, "length"))
    return bytes(out)


def log_bytes(data: Path, directory: str) -> dict[str, bytes]:
    """The segments of a partition by name; empty where there is none."""
    return {path.name: without_append_times(path.read_bytes()) for path in sorted((data / directory).glob("*.log"))}


def first_difference(native: dict[str, bytes], python: dict[str, bytes]) -> str:
    if native.keys() != python.keys():
        return f"{sorted(native)} and {sorted(python)}"
    name = next(name for name in native if native[name] != python[name])
    one, other = native[name], python[name]
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), -1)
    return f"{name} has {len(one)} and {len(other)} bytes, from byte {at} on"
