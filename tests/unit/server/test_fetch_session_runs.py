"""Random lives of fetch sessions: native and handlers answer alike, and a client gets every record once and in order.

Two brokers, one native and one with handlers only, get the same requests. Answers are compared byte for byte, with the
ids of topics and sessions, which are random, set to the same values.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.protocol.headers import decode_response
from kcore.server.broker import Broker
from kcore.server.fast_path.fetch_session import live_sessions
from tests.broker_process import KEEPING
from tests.raw_client import RawClient
from tests.unit.server.fetch_session_client import SessionClient
from tests.unit.server.test_produce_and_fetch import batch, produce

TOPICS = ("first", "second", "third")
PARTITIONS = 4
STEPS = 400


class Side:
    """One broker, a connection for changes, and one client with its session."""

    def __init__(self, directory: Path, fast_path: bool) -> None:
        settings = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(directory),
            "num.network.threads": "1",
            "num.io.threads": "1",
            "kcli.fast.path.enable": str(fast_path).lower(),
            **KEEPING,
        }
        self.broker = Broker(BrokerConfig(settings))
        self.broker.startup()
        self.client = RawClient(self.broker.bound_listeners[0].port)
        self.sessions: list[SessionClient] = []

    def begin(self, version: int, topics: list[str]) -> SessionClient:
        ids = {topic: self.client.create_topic(topic, PARTITIONS) for topic in topics}
        self.sessions.append(SessionClient(self.client, ids, version))
        return self.sessions[-1]

    def stop(self) -> None:
        self.client.socket.close()
        self.broker.shutdown()


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Native first."""
    before = live_sessions()
    both = (Side(tmp_path_factory.mktemp("native"), True), Side(tmp_path_factory.mktemp("handlers"), False))
    yield both
    for side in both:
        side.stop()
    assert live_sessions() == before


def fetch(session: SessionClient, names: list[str], **more: object) -> bytes:
    """One request; the answer's bytes without what is random."""
    client = session.client
    client.send(apis.FETCH, session.version, session.request(**more))
    frame = client.receive_frame()
    assert frame is not None
    _, answer = decode_response(apis.FETCH, session.version, frame)
    if answer.session_id:
        frame = frame.replace(answer.session_id.to_bytes(4, "big"), b"\xee" * 4, 1)
    session.take(answer)
    for position, name in enumerate(names):
        frame = frame.replace(session.ids[name], bytes([position]) * 16)
    return frame[4:]


class Run:
    """What is done to both sides, drawn from a seed."""

    def __init__(self, sides: tuple[Side, Side], seed: int, version: int) -> None:
        self.draw = random.Random(seed)
        self.topics = [f"{topic}-{seed}-{version}" for topic in TOPICS]
        self.sessions = [side.begin(version, self.topics) for side in sides]
        self.sides = sides
        self.produced: dict[tuple[str, int], list[bytes]] = {}

    @property
    def parts(self) -> list[tuple[str, int]]:
        return [(topic, index) for topic in self.topics for index in range(PARTITIONS)]

    def produce(self) -> None:
        topic, index = self.draw.choice(self.parts)
        values = [b"%d" % self.draw.getrandbits(64) for _ in range(self.draw.randint(1, 3))]
        for session in self.sessions:
            assert produce(session.client, topic, batch(values), index=index).error_code == 0
        self.produced.setdefault((topic, index), []).extend(values)

    def want(self) -> None:
        part = self.draw.choice(self.parts)
        for session in self.sessions:
            received = session.received.get(part, [])
            session.want(*part, received[-1][0] + 1 if received else 0)

    def forget(self) -> None:
        wanted = sorted(self.sessions[0].offsets)
        if len(wanted) < 2:
            return
        for part in self.draw.sample(wanted, self.draw.randint(1, min(3, len(wanted) - 1))):
            for session in self.sessions:
                session.forget(*part)

    def ask_for_what_is_not_there(self) -> None:
        part = (self.draw.choice(self.topics), PARTITIONS + 1)
        for session in self.sessions:
            if part in session.offsets:
                session.forget(*part)
            else:
                session.want(*part)

    def trim(self) -> None:
        """Below what was consumed, so that no record is lost to the client."""
        topic, index = part = self.draw.choice(self.parts)
        received = self.sessions[0].received.get(part, [])
        if received:
            for side in self.sides:
                partition = side.broker.replica_manager.partition(topic, index)
                assert partition is not None
                partition.log.increment_start_offset(received[-1][0])

    def break_session(self) -> None:
        wrong = self.draw.choice(({"session_id": 7}, {"session_epoch": 77}, {"session_epoch": -9}))
        if self.sessions[0].epoch > 0:
            self.compare(**wrong)

    def compare(self, **more: object) -> None:
        native, handlers = (fetch(session, self.topics, **more) for session in self.sessions)
        assert native == handlers

    def fetch(self) -> None:
        self.compare(
            max_bytes=self.draw.choice((1, 200, 1 << 20)),
            min_bytes=self.draw.choice((0, 1, 100)),
            isolation_level=self.draw.choice((0, 0, 0, 1)),
        )

    def step(self) -> None:
        actions = {
            self.fetch: 10,
            self.produce: 8,
            self.want: 3,
            self.forget: 1,
            self.ask_for_what_is_not_there: 0.5,
            self.trim: 1,
            self.break_session: 0.3,
        }
        self.draw.choices(list(actions), list(actions.values()))[0]()


@pytest.mark.parametrize("version", [7, 12, 13, 17])
@pytest.mark.parametrize("seed", range(3))
def test_every_record_comes_once_and_in_order(sides: tuple[Side, Side], seed: int, version: int) -> None:
    run = Run(sides, seed, version)
    for part in run.parts[:6]:
        for session in run.sessions:
            session.want(*part)
    for _ in range(STEPS):
        run.step()
    for session in run.sessions:
        for part in run.parts:
            received = session.received.get(part, [])
            session.want(*part, received[-1][0] + 1 if received else 0)
    while any(len(run.sessions[0].received.get(part, [])) < len(values) for part, values in run.produced.items()):
        before = sum(map(len, run.sessions[0].received.values()))
        run.compare()
        # A session that was broken last is begun anew by its next request only.
        run.compare()
        assert sum(map(len, run.sessions[0].received.values())) > before, "records are left, and none comes"
    for session in run.sessions:
        assert session.received == {part: list(enumerate(values)) for part, values in run.produced.items()}
