"""One seed against one broker: windows of mutated requests, and what must hold after each window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from kcore.protocol import apis
from tests.fuzz.requests.broker import FuzzedBroker, complaint
from tests.fuzz.requests.bystander import Bystander
from tests.fuzz.requests.findings import Finding
from tests.fuzz.requests.judgement import may_wait
from tests.fuzz.requests.lane import Lane
from tests.fuzz.requests.restricted import is_restricted
from tests.fuzz.requests.source import Request, RequestSource
from tests.fuzz.requests.world import TOPICS, Learner
from tests.raw_client import RawClient

REQUESTS_OF_A_SEED = 2000
LANES, REQUESTS_OF_A_LANE = 3, 32
WINDOW = 480
PARKED_AT_MOST = 12
LATEST = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
# Beyond what a new broker takes. A sanitizer keeps freed memory aside.
GROWTH_BYTES, SANITIZED_GROWTH_BYTES = 300 << 20, 900 << 20
DESCRIPTORS_AT_MOST = 1500
# On average of a window: a line for a malformed request, and lines for topics that are created and deleted.
LOG_BYTES_OF_A_REQUEST = 400


class Fuzzer:
    """Fuzzes one broker with one seed after another."""

    def __init__(self, broker: FuzzedBroker) -> None:
        self.broker = broker
        self.bystander: Bystander | None = None
        self.checker = RawClient(broker.port, client_id="checker")
        self.memory_at_first = broker.resident_bytes()

    def run(self, seed: int, count: int = REQUESTS_OF_A_SEED, only: Sequence[int] | None = None) -> int:
        """How many requests were sent; raises Finding. `only` are the indexes to send instead of the first `count`."""
        try:
            return self.send_all(seed, range(count) if only is None else only)
        except Finding as finding:
            raise self.with_cause(finding) from finding
        except (AssertionError, OSError) as error:
            raise self.with_cause(Finding(f"the broker does not serve the fuzzer: {error!r}")) from error

    def send_all(self, seed: int, indexes: Sequence[int]) -> int:
        world = Learner(self.checker, seed).learn()
        if self.bystander is None:
            self.bystander = Bystander(self.broker.port)
            self.bystander.join()
        source = RequestSource(seed, world)
        requests = (source.request(index) for index in indexes)
        sent = 0
        self.lanes = [Lane(self.broker.port, self.broker.build.patience_s) for _ in range(LANES)]
        try:
            wanted = (request for request in requests if not is_restricted(request))
            while window := list(islice(wanted, WINDOW)):
                self.send_window(window)
                sent += len(window)
        finally:
            for lane in self.lanes:
                lane.close_all()
        return sent

    def send_window(self, window: list[Request]) -> None:
        try:
            for number, part in enumerate(parts(window)):
                lane = self.lanes[number % LANES]
                lane.collect()
                lane.send(part)
            for lane in self.lanes:
                lane.collect()
                while len(lane.parked) > PARKED_AT_MOST:
                    lane.parked.popleft().finish(0.0)
            self.look_after(window)
        except Finding as finding:
            finding.window = window
            raise

    def look_after(self, window: list[Request]) -> None:
        """What must hold between windows."""
        assert self.bystander is not None
        if not self.broker.is_running:
            raise Finding("the broker is gone", window)
        try:
            self.bystander.exchange()
            self.look_at_stable_offsets()
        except Finding as finding:
            finding.suspects = finding.suspects or window
            raise
        log = self.broker.new_log()
        if found := complaint(log):
            raise Finding(f"an error in the log: {found}", window)
        if len(log) > LOG_BYTES_OF_A_REQUEST * max(len(window), WINDOW):
            raise Finding(f"{len(log)} bytes of log for {len(window)} requests: {log[-1000:]!r}", window)
        self.look_at_resources(window)

    def look_at_resources(self, window: list[Request]) -> None:
        grown = self.broker.resident_bytes() - self.memory_at_first
        if grown > (SANITIZED_GROWTH_BYTES if self.broker.build.is_instrumented else GROWTH_BYTES):
            raise Finding(f"the broker grew by {grown >> 20} MiB", window)
        if (count := self.broker.descriptors()) > DESCRIPTORS_AT_MOST:
            raise Finding(f"the broker has {count} descriptors", window)

    def look_at_stable_offsets(self) -> None:
        """There are no transactions, so the last stable offset of every log is its high watermark."""
        stable, marks = (self.latest_offsets(level) for level in (READ_COMMITTED, READ_UNCOMMITTED))
        for place, mark in marks.items():
            if stable.get(place) != mark:
                name, index = place
                raise Finding(f"the last stable offset of {name}-{index} stays at {stable.get(place)} of {mark}")

    def latest_offsets(self, isolation_level: int) -> dict[tuple[str, int], int]:
        """By topic and partition; without those that a mutated request deleted."""
        rows = [
            {
                "name": name,
                "partitions": [{"partition_index": index, "timestamp": LATEST} for index in range(partitions)],
            }
            for name, (partitions, _) in TOPICS.items()
        ]
        fields = {"replica_id": -1, "isolation_level": isolation_level, "topics": rows}
        answer = self.checker.request(apis.LIST_OFFSETS, 7, fields)
        return {
            (topic.name, part.partition_index): part.offset
            for topic in answer.topics
            for part in topic.partitions
            if part.error_code == 0
        }

    def with_cause(self, finding: Finding) -> Finding:
        """The finding with the death of the broker, or what it logged, which are the better explanation."""
        suspects = finding.suspects or finding.window
        if not self.broker.is_running or self.broker.has_ended(within_s=1.0):
            return Finding(self.broker.death(), suspects)
        if found := complaint(self.broker.new_log()):
            return Finding(f"{finding.what}\n{found}", suspects)
        return Finding(finding.what, suspects)

    def finish(self) -> None:
        """Stops the broker, which must end in good order; raises Finding."""
        self.close()
        if wrong := self.broker.stop():
            raise Finding(wrong)

    def close(self) -> None:
        self.checker.socket.close()
        if self.bystander is not None:
            self.bystander.close()


def parts(window: list[Request]) -> Iterator[list[Request]]:
    """Pieces for a lane: well-formed requests come before lies, and one that may wait comes last."""
    for first in range(0, len(window), REQUESTS_OF_A_LANE):
        piece = window[first : first + REQUESTS_OF_A_LANE]
        waiting = [request for request in piece if may_wait(request)]
        yield sorted((request for request in piece if request not in waiting), key=lambda request: request.is_lie)
        for request in waiting:
            yield [request]
