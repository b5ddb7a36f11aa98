"""Plays a scenario before a broker and writes down, step by step, what can be compared with another broker's.

A step's result, `StepResult.seen`, is plain data:

    generations     how many the group went through
    protocol        that the members agreed on
    shares          how many partitions each member owns; by name where members have fixed ids, otherwise sorted
    told            what each member's application was told, in order: "revoked 4", "assigned 2"
    errors          which group APIs answered which errors to which member
    commit errors   what clients' commits raised in their applications
    produced, read again      records of this step, and how many were read that some member had read before
    committed       the broker's answer for each partition
    described       what DescribeGroups says of the group's state, protocol and number of members

That a rebalance is in progress is told by whatever a member asks first, and how often a cooperative member is told of
no partitions depends on who is faster: neither is written down. Someone who wakes up, or whose place was taken, may
read and try to commit, or not, before hearing of it: of what it does then only the errors count, whatever it asked, and
not what was read again. Where several act at once, neither that, nor who was told what, nor the generations count.

How long the group took to be stable again after a death is measured, in `StepResult.stable_after_ms`; it is no part of
what is compared. Every wait has the bound STEP_TIMEOUT_S, which is there against hanging only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, Message, Producer

from kcore.protocol import apis
from tests.groups.evidence import Evidence, Starved, name_of
from tests.groups.member_process import MemberProcess
from tests.groups.members.line_protocol import Settings
from tests.groups.scenario import Action, Commits, Join, Kill, Leave, Pause, Replaced, Resume, Scenario, Step
from tests.groups.tap import GroupTap
from tests.invariants import history
from tests.invariants.checker import check_history
from tests.invariants.history import Committed, Outcome, Send, TopicPartition
from tests.invariants.ownership import check_group_read_everything
from tests.raw_client import RawClient

STEP_TIMEOUT_S = 90.0
START_TIMEOUT_S = 60.0
ASK_AGAIN_S = 0.02
RECORDS_A_STEP = 3
PRODUCER = "player"
# What every broker is started with that scenarios are played before.
PROPERTIES = {
    "offsets.topic.num.partitions": "4",
    "group.min.session.timeout.ms": "500",
    "group.initial.rebalance.delay.ms": "300",
}
REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
ATTEMPTS = 4
LONGER = 3
# kafka-python 3.0 joins once more when metadata, or a heartbeat's answer, comes while it joins: how many generations
# there are, and how often somebody is told, is by chance then.
UNSTEADY = "kafka-python"
# Of every member; how long its session is, its scenario says.
HEARTBEAT_MS = 300
MAX_POLL_INTERVAL_MS = 60_000


class StepResult(NamedTuple):
    seen: dict[str, Any]
    stable_after_ms: float | None
    # As it was played: longer than the scenario says where the machine was slow.
    session_ms: int


def play(
    scenario: Scenario, port: int, scratch: Path, programs: Mapping[str, tuple[str, ...]]
) -> dict[str, StepResult]:
    """A scenario before one broker; again, with longer sessions, where the machine proved too slow for its sessions."""
    for attempt in range(ATTEMPTS - 1):
        longer = scenario._replace(session_ms=scenario.session_ms * LONGER**attempt)
        try:
            return Player(longer, port, scratch, programs, attempt).play()
        except Starved as starved:
            print(f"{scenario.name!r}, sessions of {longer.session_ms} ms: {starved}", file=sys.stderr)
    longest = scenario._replace(session_ms=scenario.session_ms * LONGER ** (ATTEMPTS - 1))
    return Player(longest, port, scratch, programs, ATTEMPTS - 1).play()


class Player:
    """One scenario before one broker; `programs` are the command lines of members by their client."""

    def __init__(
        self,
        scenario: Scenario,
        port: int,
        scratch: Path,
        programs: Mapping[str, tuple[str, ...]],
        attempt: int = 0,
    ) -> None:
        self.scenario = scenario
        self.port = port
        self.scratch = scratch
        self.programs = programs
        self.topic = self.group = f"{scenario.name}-{attempt}".replace(" ", "-").replace(",", "")
        self.partitions = frozenset(TopicPartition(self.topic, number) for number in range(scenario.partitions))
        self.evidence = Evidence(self.group, scenario.session_ms)
        self.processes: dict[str, MemberProcess] = {}
        self.paused: set[str] = set()
        self.replaced: set[str] = set()
        self.silent: set[str] = set()  # who does not commit
        self.starts: dict[str, int] = {}
        self.produced = 0
        self.generation = 0
        self.ends: dict[TopicPartition, int] = {}

    def play(self) -> dict[str, StepResult]:
        """The results by the names of steps; InvariantViolation when the evidence has one."""
        results: dict[str, StepResult] = {}
        self.evidence.history.add_producer(history.Producer(PRODUCER, idempotent=False, ordered=True))
        with ExitStack() as stack:
            self.tap = stack.enter_context(GroupTap(self.port, self.evidence.on_exchange))
            self.client = stack.enter_context(RawClient(self.port))
            stack.callback(self._kill_all)
            self.producer = Producer(
                {"bootstrap.servers": f"127.0.0.1:{self.port}", "max.in.flight.requests.per.connection": 1}
            )
            self.client.create_topic(self.topic, self.scenario.partitions)
            self._wait_for_coordinator()
            for step in self.scenario.steps:
                assert step.name not in results, f"two steps are called {step.name!r}"
                results[step.name] = self._play(step)
                check_history(self.evidence.so_far())
            check_group_read_everything(self.evidence.so_far(), self.group)
        return results

    def _wait_for_coordinator(self) -> None:
        """`__consumer_offsets` is made when it is first asked for, and read before it serves."""
        deadline = time.monotonic() + STEP_TIMEOUT_S
        while self._find_coordinator() or self._fetch_committed() is None:
            assert time.monotonic() < deadline, "there is no coordinator"
            # Nothing tells when a partition has been loaded.
            time.sleep(ASK_AGAIN_S)

    def _find_coordinator(self) -> int:
        answer = self.client.request(apis.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": [self.group]})
        return int(answer.coordinators[0].error_code)

    def _fetch_committed(self) -> dict[TopicPartition, int | None] | None:
        groups = [{"group_id": self.group, "topics": None}]
        answer = self.client.request(apis.OFFSET_FETCH, 8, {"groups": groups, "require_stable": True}).groups[0]
        if answer.error_code:
            return None
        found = {
            TopicPartition(topic.name, one.partition_index): one.committed_offset
            for topic in answer.topics
            for one in topic.partitions
        }
        return {partition: found.get(partition) for partition in sorted(self.partitions)}

    # A step

    def _play(self, step: Step) -> StepResult:
        began = time.monotonic_ns()
        waking = {name for action in step.actions if isinstance(action, Resume | Replaced) for name in action.names}
        died_at = None
        for action in step.actions:
            if isinstance(action, Kill | Pause):
                died_at = time.monotonic_ns()
            self._act(action)
        stable_after_ms = None
        read_before = self.evidence.read_count.total()
        distinct_before = len(self.evidence.read_count)
        produced_before = self.produced
        generation_before = self.generation
        if step.settles:
            self._wait_until_settled(step)
            if died_at is not None and not any(isinstance(action, Join) for action in step.actions):
                stable_after_ms = (self.evidence.settled_at() - died_at) / 1e6
            self._produce()
            self._wait_until_read(step)
            self._wait_until_settled(step)
        self._ask_committed()
        self.generation = self.evidence.newest_generation()
        distinct = len(self.evidence.read_count) - distinct_before
        again = self.evidence.read_count.total() - read_before - distinct
        is_steady = all(member.client != UNSTEADY for member in self.scenario.members.values()) and not step.at_once
        seen = {
            "generations": self.generation - generation_before if is_steady else "some",
            "protocol": self.evidence.protocols.get(self.evidence.newest_generation()),
            "shares": self._shares(),
            "told": self._told_since(began) if is_steady else "by chance",
            "errors": self._errors_since(began, waking, is_steady),
            "commit errors": self._commit_errors_since(began, waking, is_steady),
            "produced": self.produced - produced_before,
            "read again": "some or none" if waking or step.at_once else again,
            "described": self._described(),
            "committed": {str(partition.partition): self.committed[partition] for partition in sorted(self.partitions)},
        }
        return StepResult(seen, stable_after_ms, self.scenario.session_ms)

    def _wait_until_settled(self, step: Step) -> None:
        self._wait(
            step,
            lambda: self.evidence.is_settled(self._living(), self.partitions, frozenset(self.replaced)),
            "does not settle",
        )

    def _wait_until_read(self, step: Step) -> None:
        """Every record by somebody, and everything committed of what is owned by those that commit."""
        sent = [(send.partition, send.offset) for send in self.evidence.history.sends if send.offset is not None]

        def is_read() -> bool:
            return all(one in self.evidence.read_count for one in sent) and all(
                self.evidence.committed.get(partition) == self.ends[partition]
                for partition, client_id in self.evidence.owners().items()
                if name_of(client_id) not in self.silent
            )

        self._wait(step, is_read, "does not read and commit everything")

    def _wait(self, step: Step, condition: Any, complaint: str) -> None:
        if not self.evidence.wait_for(condition, STEP_TIMEOUT_S + self.scenario.session_ms / 1000):
            outputs = "".join(f"{one.client_id} wrote: {one.output()}\n" for one in self.processes.values())
            raise AssertionError(
                f"{self.scenario.name!r}, step {step.name!r}: the group {complaint}\n{self.evidence.state()}\n{outputs}"
            )

    def _produce(self) -> None:
        """So many to every partition, acknowledged when this returns."""
        for partition in sorted(self.partitions) * RECORDS_A_STEP:
            value = b"%d" % self.produced
            heard = partial(self._delivered, Send(PRODUCER, self.produced, partition, value, Outcome.ACKED))
            self.producer.produce(self.topic, value, partition=partition.partition, on_delivery=heard)
            self.produced += 1
        assert self.producer.flush(STEP_TIMEOUT_S) == 0, "the player's records are not acknowledged"

    def _delivered(self, send: Send, error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offset = message.offset()
        assert offset is not None
        self.evidence.history.sends.append(send._replace(offset=offset, at=time.monotonic_ns()))
        self.ends[send.partition] = offset + 1

    def _ask_committed(self) -> None:
        answer = self._fetch_committed()
        assert answer is not None
        self.committed = answer
        at = time.monotonic_ns()
        told = [Committed(self.group, partition, offset, at) for partition, offset in answer.items()]
        self.evidence.history.committed.extend(told)

    # What is written down

    def _described(self) -> dict[str, Any]:
        fields = {"groups": [self.group], "include_authorized_operations": False}
        answer = self.client.request(apis.DESCRIBE_GROUPS, 5, fields).groups[0]
        return {
            "error": answer.error_code,
            "state": answer.group_state,
            "protocol": [answer.protocol_type, answer.protocol_data],
            "members": len(answer.members),
        }

    def _shares(self) -> dict[str, int] | list[int]:
        shares = self.evidence.shares(self._living())
        if any(self.scenario.members[name_of(client_id)].instance for client_id in shares):
            return {name_of(client_id): count for client_id, count in sorted(shares.items())}
        return sorted(shares.values())

    def _told_since(self, began: int) -> dict[str, list[str]]:
        told: dict[str, list[str]] = {}
        for one in self.evidence.callbacks:
            if one.at >= began and one.partitions:
                told.setdefault(one.member, []).append(f"{one.kind} {len(one.partitions)}")
        return dict(sorted(told.items()))

    def _errors_since(self, began: int, waking: set[str], is_steady: bool) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {}
        for one in self.evidence.errors:
            if one.at >= began and (is_steady or one.error != REBALANCE_IN_PROGRESS):
                is_by_chance = one.member in waking or one.error == REBALANCE_IN_PROGRESS
                found.setdefault(one.member, set()).add(one.error if is_by_chance else f"{one.api} {one.error}")
        return {member: sorted(texts) for member, texts in sorted(found.items())}

    def _commit_errors_since(self, began: int, waking: set[str], is_steady: bool) -> list[str]:
        if not is_steady:
            return ["by chance"]
        heard = [one for one in self.evidence.commits_heard if one.at >= began and one.member not in waking]
        return sorted({f"{one.member}: {one.error}" for one in heard if one.error})

    # Actions

    def _act(self, action: Action) -> None:
        if isinstance(action, Join):
            for process in [self._start(name) for name in action.names]:
                process.wait_until_ready(START_TIMEOUT_S)
                process.tell(do="join")
        elif isinstance(action, Commits):
            self.silent = self.silent - {*action.names} if action.on else self.silent | {*action.names}
            for name in action.names:
                self.processes[name].let_commit(action.on)
        else:
            for name in action.names:
                self._act_on(action, name)

    def _act_on(self, action: Leave | Kill | Pause | Resume | Replaced, name: str) -> None:
        process = self.processes[name]
        if isinstance(action, Leave):
            process.tell(do="leave")
            process.wait()
            self._forget(name)
        elif isinstance(action, Kill):
            self._forget(name)
        elif isinstance(action, Pause):
            self.evidence.excused.add(process.client_id)
            process.stop()
            self.paused.add(name)
        elif isinstance(action, Replaced):
            self.replaced.add(name)
            knows = self.evidence.wait_for(lambda: name in self.evidence.fenced, STEP_TIMEOUT_S)
            assert knows, f"{name} is not fenced"
        else:
            self.paused.discard(name)
            process.resume()

    def _start(self, name: str) -> MemberProcess:
        assert name not in self.processes, f"{name} is there already"
        member = self.scenario.members[name]
        self.starts[name] = self.starts.get(name, 0) + 1
        settings = Settings(
            server=self.tap.bootstrap_server,
            group=self.group,
            topics=[self.topic],
            client_id=f"{name}.{self.starts[name]}",
            group_instance_id=member.instance,
            assignor=member.assignor,
            session_timeout_ms=self.scenario.session_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            max_poll_interval_ms=MAX_POLL_INTERVAL_MS,
        )
        errors = self.scratch / f"{self.group}-{settings.client_id}.log"
        process = MemberProcess(self.programs[member.client], settings, errors, self.evidence.on_event)
        self.processes[name] = process
        return process

    def _forget(self, name: str) -> None:
        process = self.processes.pop(name)
        self.paused.discard(name)
        self.replaced.discard(name)
        self.silent.discard(name)
        process.kill()
        self.evidence.on_death(process.client_id)

    def _kill_all(self) -> None:
        for name in list(self.processes):
            self._forget(name)

    def _living(self) -> list[str]:
        return [
            process.client_id for name, process in self.processes.items() if name not in self.paused | self.replaced
        ]
