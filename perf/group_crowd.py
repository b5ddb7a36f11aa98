"""The members of very many groups in one process, for measurements: a connection each, one epoll, pre-encoded frames.

    .venv/bin/python -m perf.group_crowd PORT --groups N --members M --topic NAME [--pid PID] [--heartbeats SECONDS]
        [--interval-ms MS] [--commits SECONDS] [--committers N...]

First every member joins and synchronises, as a client does: it takes the member id that it is given (KIP-394), joins
again when it is told of a rebalance, and whoever leads hands in assignments. When all groups are whole, everyone sends
heartbeats, evenly spread over the interval, and go on for as long as anything is measured. Then so many members at once
commit, each again when it is answered.

One line of JSON on stdout: for each part what was answered, latencies in milliseconds as seen here, errors by code, the
share of a core that this process took, and with --pid that of the broker.
"""

from __future__ import annotations

import argparse
import json
import resource
import select
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.headers import decode_response, encode_request
from kcore.protocol.message import Message
from perf.processes import LOOPBACK, cpu_seconds
from tests.raw_client import RawClient

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, COMMIT_VERSION = 9, 5, 4, 9
MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS = 79, 27
# The coordinator's partition is being made, or read.
NOT_YET = (14, 15, 16)
SESSION_TIMEOUT_MS = 60_000
REBALANCE_TIMEOUT_MS = 60_000
PATIENCE_S = 300.0
PARTITIONS_A_COMMIT = 5
CONNECTING_AT_ONCE = 100
RECEIVE_BYTES = 65_536
# Behind the length of an answer: correlation id and header tags, then throttle_time_ms; the error code of a heartbeat.
HEARTBEAT_ERROR_AT = 4 + 4 + 1 + 4


class Member:
    """One connection; it waits for at most one answer."""

    __slots__ = ("asked_at", "commit", "group", "heartbeat", "is_first", "member_id", "received", "socket", "waits_for")

    def __init__(self, group: Group, is_first: bool) -> None:
        self.group = group
        self.is_first = is_first
        self.member_id = ""
        self.socket = socket.socket()
        self.received = b""
        self.waits_for = ""
        self.asked_at = 0
        self.heartbeat = self.commit = b""


class Group:
    """`synced` are the members that have an assignment of the newest generation."""

    __slots__ = ("generation", "group_id", "members", "synced")

    def __init__(self, group_id: str, members: int) -> None:
        self.group_id = group_id
        self.generation = -1
        self.members = [Member(self, number == 0) for number in range(members)]
        self.synced: set[Member] = set()

    @property
    def is_whole(self) -> bool:
        return len(self.synced) == len(self.members)


class Part:
    """What is counted of one kind of request while it is measured."""

    def __init__(self) -> None:
        self.latencies_ns: list[int] = []
        self.errors: Counter[int] = Counter()

    def report(self, seconds: float) -> dict[str, Any]:
        ordered = sorted(self.latencies_ns)
        count = len(ordered)

        def at(share: float) -> float:
            return ordered[min(count - 1, int(count * share))] / 1e6 if ordered else 0.0

        return {
            "answered": count,
            "per_second": count / seconds,
            "p50_ms": at(0.5),
            "p99_ms": at(0.99),
            "worst_ms": at(1.0),
            "errors": dict(self.errors),
        }


class GroupCrowd:
    def __init__(
        self, port: int, groups: int, members: int, topic: str, interval_ms: int, prefix: str = "crowd"
    ) -> None:
        self.port = port
        self.topic = topic
        self.interval_ns = interval_ms * 1_000_000
        self.groups = [Group(f"{prefix}-{number}", members) for number in range(groups)]
        self.members = [member for group in self.groups for member in group.members]
        self.by_fd: dict[int, Member] = {}
        self.epoll = select.epoll()
        self.heartbeats = Part()
        self.commits = Part()
        # Who is due next stands first: everybody's turn comes again after the same time.
        self.turns: deque[tuple[int, Member]] = deque()
        self.skipped = 0
        self.committers: set[Member] = set()

    # Joining

    def gather(self) -> float:
        """Has every member in its group; answers the seconds that it took."""
        began = time.monotonic()
        with RawClient(self.port) as client:
            # `__consumer_offsets` is made when it is first asked for.
            fields = {"key_type": 0, "coordinator_keys": [self.groups[0].group_id]}
            while client.request(apis.FIND_COORDINATOR, 4, fields).coordinators[0].error_code:
                time.sleep(0.05)
        waiting = deque(self.members)
        while waiting:
            for member in (waiting.popleft() for _ in range(min(CONNECTING_AT_ONCE, len(waiting)))):
                member.socket.connect((LOOPBACK, self.port))
                member.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                member.socket.setblocking(False)
                self.by_fd[member.socket.fileno()] = member
                self.epoll.register(member.socket, select.EPOLLIN)
                self.join(member)
            self.poll(0.0)
        asked = time.monotonic()
        while not all(group.is_whole for group in self.groups):
            if time.monotonic() - began > PATIENCE_S:
                whole = sum(group.is_whole for group in self.groups)
                raise RuntimeError(f"only {whole} of {len(self.groups)} groups have come together")
            self.poll(0.1)
            if time.monotonic() - asked > 1.0:
                # Members of a generation that lacks somebody hear of the next one by a heartbeat.
                asked = time.monotonic()
                lacking = [group for group in self.groups if not group.is_whole]
                for member in (member for group in lacking for member in group.synced if not member.waits_for):
                    self.send(member, "heartbeat", member.heartbeat)
        return time.monotonic() - began

    def join(self, member: Member) -> None:
        fields = {
            "group_id": member.group.group_id,
            "session_timeout_ms": SESSION_TIMEOUT_MS,
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
            "member_id": member.member_id,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b"\0\1\0\0\0\0\xff\xff\xff\xff"}],
        }
        member.group.synced.discard(member)
        self.ask(member, "join", apis.JOIN_GROUP, JOIN_VERSION, fields)

    def on_join(self, member: Member, answer: Message) -> None:
        member.member_id = answer.member_id or member.member_id
        if answer.error_code == MEMBER_ID_REQUIRED or answer.error_code in NOT_YET:
            self.join(member)
            return
        if answer.error_code:
            raise RuntimeError(f"JoinGroup was answered {answer.error_code}")
        if answer.generation_id != member.group.generation:
            member.group.generation = answer.generation_id
            member.group.synced.clear()
        assignments = [{"member_id": one.member_id, "assignment": b"\0\1\0\0\0\0\0\0\0\0"} for one in answer.members]
        fields = {
            "group_id": member.group.group_id,
            "generation_id": answer.generation_id,
            "member_id": member.member_id,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": assignments,
        }
        self.ask(member, "sync", apis.SYNC_GROUP, SYNC_VERSION, fields)

    def on_sync(self, member: Member, answer: Message) -> None:
        if answer.error_code == REBALANCE_IN_PROGRESS:
            self.join(member)
            return
        if answer.error_code:
            raise RuntimeError(f"SyncGroup was answered {answer.error_code}")
        member.group.synced.add(member)
        self.prepare(member)

    def prepare(self, member: Member) -> None:
        """Encodes what it will send again and again."""
        group = member.group
        identity = {"group_id": group.group_id, "member_id": member.member_id}
        fields = {**identity, "generation_id": group.generation}
        member.heartbeat = framed(apis.HEARTBEAT, HEARTBEAT_VERSION, fields)
        partitions = [{"partition_index": index, "committed_offset": 1_000} for index in range(PARTITIONS_A_COMMIT)]
        fields = {
            **identity,
            "generation_id_or_member_epoch": group.generation,
            "topics": [{"name": self.topic, "partitions": partitions}],
        }
        member.commit = framed(apis.OFFSET_COMMIT, COMMIT_VERSION, fields)

    # Measuring

    def beat(self, seconds: float) -> float:
        """Heartbeats alone; answers how long it really was."""
        self.spread_turns()
        # One round, so that the first ones are not measured.
        self.run(self.interval_ns / 1e9)
        self.heartbeats = Part()
        return self.run(seconds)

    def commit(self, seconds: float, committers: int) -> float:
        """So many members, each of another group as far as there are so many, commit; heartbeats go on."""
        self.commits = Part()
        if not self.turns:
            self.spread_turns()
        by_turn = [member for turn in zip(*(group.members for group in self.groups), strict=True) for member in turn]
        self.committers = set(by_turn[:committers])
        for member in self.committers:
            if not member.waits_for:
                self.send(member, "commit", member.commit)
        took = self.run(seconds)
        self.committers = set()
        return took

    def spread_turns(self) -> None:
        now = time.monotonic_ns()
        step = self.interval_ns // len(self.members)
        self.turns = deque((now + number * step, member) for number, member in enumerate(self.members))

    def run(self, seconds: float) -> float:
        began = time.monotonic_ns()
        over = began + int(seconds * 1e9)
        while (now := time.monotonic_ns()) < over:
            turns = self.turns
            while turns[0][0] <= now:
                due, member = turns.popleft()
                turns.append((due + self.interval_ns, member))
                if member.waits_for:
                    # A committer's next commit, or the answer that is late, is as good.
                    self.skipped += member not in self.committers
                else:
                    self.send(member, "heartbeat", member.heartbeat)
            self.poll(max(0.0, min(turns[0][0], over) - now) / 1e9)
        return (time.monotonic_ns() - began) / 1e9

    # Frames

    def ask(self, member: Member, kind: str, api: Api, version: int, fields: dict[str, Any]) -> None:
        self.send(member, kind, framed(api, version, fields))

    def send(self, member: Member, kind: str, frame: bytes) -> None:
        member.waits_for = kind
        member.asked_at = time.monotonic_ns()
        # A frame of some hundred bytes finds room in a socket that waits for nothing else.
        if member.socket.send(frame) != len(frame):
            raise RuntimeError("a socket takes no more")

    def poll(self, timeout_s: float) -> None:
        for fd, _ in self.epoll.poll(timeout_s, 512):
            member = self.by_fd[fd]
            data = member.socket.recv(RECEIVE_BYTES)
            if not data:
                raise RuntimeError(f"the broker closed a connection that waited for {member.waits_for or 'nothing'}")
            member.received = frame = member.received + data
            if len(frame) >= 4 and len(frame) == 4 + int.from_bytes(frame[:4], "big"):
                member.received = b""
                self.answered(member, frame)

    def answered(self, member: Member, frame: bytes) -> None:
        kind, member.waits_for = member.waits_for, ""
        if kind == "heartbeat":
            error = int.from_bytes(frame[HEARTBEAT_ERROR_AT : HEARTBEAT_ERROR_AT + 2], "big")
            self.count(self.heartbeats, member, error)
            if error == REBALANCE_IN_PROGRESS:
                self.join(member)
        elif kind == "commit":
            self.count(self.commits, member, self.commit_error(frame))
            if member in self.committers:
                self.send(member, "commit", member.commit)
        elif kind == "join":
            self.on_join(member, decode_response(apis.JOIN_GROUP, JOIN_VERSION, frame[4:])[1])
        else:
            self.on_sync(member, decode_response(apis.SYNC_GROUP, SYNC_VERSION, frame[4:])[1])

    def count(self, part: Part, member: Member, error: int) -> None:
        part.latencies_ns.append(time.monotonic_ns() - member.asked_at)
        if error:
            part.errors[error] += 1

    def commit_error(self, frame: bytes) -> int:
        """Of the last partition: error code, tags of partition, topic and answer end the frame."""
        return int.from_bytes(frame[-5:-3], "big")

    def close(self) -> None:
        for member in self.members:
            member.socket.close()
        self.epoll.close()


def framed(api: Api, version: int, fields: dict[str, Any]) -> bytes:
    payload = encode_request(api, version, 0, "crowd", fields)
    return len(payload).to_bytes(4, "big") + payload


def used_seconds(pids: Iterable[int]) -> list[float]:
    return [cpu_seconds(pid) for pid in pids]


def measured(crowd: GroupCrowd, arguments: argparse.Namespace) -> dict[str, Any]:
    pids = [Path("/proc/self").resolve().name, *([arguments.pid] if arguments.pid else [])]
    report: dict[str, Any] = {"gathered_in_s": crowd.gather(), "members": len(crowd.members)}

    def shares(before: list[float], seconds: float) -> dict[str, float]:
        used = [(after - start) / seconds for start, after in zip(before, used_seconds(map(int, pids)), strict=True)]
        return dict(zip(("client_core_share", "broker_core_share"), used, strict=False))

    if arguments.heartbeats:
        crowd.beat(0.0)
        before = used_seconds(map(int, pids))
        took = crowd.run(arguments.heartbeats)
        report["heartbeats"] = {**crowd.heartbeats.report(took), "skipped": crowd.skipped, **shares(before, took)}
    for committers in arguments.committers if arguments.commits else ():
        before = used_seconds(map(int, pids))
        took = crowd.commit(arguments.commits, committers)
        report[f"commits by {committers}"] = {**crowd.commits.report(took), **shares(before, took)}
    return report


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--prefix", default="crowd", help="of the groups' ids: members of an earlier crowd live on")
    parser.add_argument("--pid", type=int, help="of the broker")
    parser.add_argument("--heartbeats", type=float, default=0.0, help="seconds")
    parser.add_argument("--interval-ms", type=int, default=3_000)
    parser.add_argument("--commits", type=float, default=0.0, help="seconds for each number of committers")
    parser.add_argument("--committers", type=int, nargs="+", default=[1, 10, 100])
    arguments = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    crowd = GroupCrowd(
        arguments.port, arguments.groups, arguments.members, arguments.topic, arguments.interval_ms, arguments.prefix
    )
    try:
        print(json.dumps(measured(crowd, arguments)))
    except (OSError, RuntimeError) as error:
        sys.exit(f"group_crowd: {error}")
    finally:
        crowd.close()


if __name__ == "__main__":
    main()
