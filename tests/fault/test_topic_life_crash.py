"""Topics and their logs under kill -9: the metadata store, the controller and the log manager together.

A child process makes topics, appends to them, flushes, deletes them, and writes a line when each is done; it is killed
at a random moment and a new one goes on. After every kill: the start succeeds, each topic of the metadata has its logs
with at least the records that were acknowledged, no directory is left of a deleted topic, and none was set aside as
unknown.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CHILD = r"""
import random, sys
from kcore import logger
from kcore.config.broker import BrokerConfig
from kcore.controller.controller import Controller
from kcore.controller.embedded_store import EmbeddedMetadataStore
from kcore.controller.new_topic import NewTopic
from kcore.metadata.image import BrokerRegistration
from kcore.platform.real_disk import RealDisk
from kcore.record.encoder import encode_batch
from kcore.storage.log_dir_scan import HostedTopic
from kcore.storage.log_manager import LogManager
from kcore.storage.scheduler import Scheduler

root, seed = sys.argv[1], int(sys.argv[2])
changes = int(sys.argv[3])
chance = random.Random(seed)
logger.set_level("WARN")
config = BrokerConfig({"log.segment.delete.delay.ms": "0", "log.initial.task.delay.ms": "0",
                       "log.flush.offset.checkpoint.interval.ms": "5",
                       "replica.high.watermark.checkpoint.interval.ms": "5"})
scheduler = Scheduler()
logs = LogManager(RealDisk(), [root + "/a", root + "/b"], config, scheduler)
meta = logs.open()
store = EmbeddedMetadataStore(root + "/a/__cluster_metadata.sqlite")
cluster_id = store.open(meta.cluster_id if meta is not None else None)
topics = {
    name: HostedTopic(topic.topic_id, range(len(topic.partitions)), store.image.topic_configs(name))
    for name, topic in store.image.topics.items()
}
logs.startup(1, cluster_id, topics, store.deleted_topic_ids())
controller = Controller(store, config)
controller.start(1)
controller.finish_deletions()
controller.register_broker(BrokerRegistration(1))

def follow(image, delta):
    logs.delete_logs([(state.topic, state.partition) for state in delta.deleted_partitions()])
    for state in delta.created_partitions():
        logs.get_or_create_log(state.topic, state.partition, image.topics[state.topic].topic_id, is_new=True)

store.subscribe(follow)
scheduler.startup()

def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()

for name, topic in store.image.topics.items():
    for partition in range(len(topic.partitions)):
        say("found", name, topic.topic_id.hex(), partition, logs.get_log(name, partition).end_offset)
say("started")
batch = encode_batch([(b"key", b"value" * 10)], timestamp=1)
for _ in range(changes):
    names = sorted(store.image.topics)
    choice = chance.random()
    if choice < 0.15 and len(names) < 5:
        (result,) = controller.create_topics([NewTopic(f"t{chance.randrange(8)}", chance.randint(1, 4), 1)])
        if result.error is None:
            say("created", result.name, result.topic_id.hex(), len(result.topic.partitions))
    elif choice < 0.25 and names:
        name = chance.choice(names)
        say("deleting", name)
        (result,) = controller.delete_topics([name])
        say("deleted", name)
    elif names:
        name = chance.choice(names)
        partition = chance.randrange(len(store.image.topics[name].partitions))
        log = logs.get_log(name, partition)
        log.append(batch)
        say("appended", name, store.image.topics[name].topic_id.hex(), partition, log.end_offset)
        if choice > 0.9:
            log.flush()
scheduler.shutdown()
store.close()
logs.shutdown()
"""


class Expectation:
    """What the lines of all children say must be there."""

    def __init__(self) -> None:
        self.topics: dict[str, str] = {}
        self.ends: dict[tuple[str, int], int] = {}
        self.in_doubt: str | None = None

    def hear(self, words: list[str]) -> None:
        kind, *rest = words
        if kind == "created":
            self.topics[rest[0]] = rest[1]
            self.ends.update(((rest[0], partition), 0) for partition in range(int(rest[2])))
        elif kind == "deleting":
            self.in_doubt = rest[0]
        elif kind == "deleted":
            self.forget(rest[0])
        elif kind == "appended":
            self.ends[rest[0], int(rest[2])] = int(rest[3])

    def forget(self, name: str) -> None:
        self.in_doubt = None
        del self.topics[name]
        self.ends = {key: end for key, end in self.ends.items() if key[0] != name}

    def check_start(self, lines: list[list[str]]) -> None:
        """Compares with what a child found when it started, and takes that over."""
        found = {(words[1], int(words[3])): int(words[4]) for words in lines}
        ids = {words[1]: words[2] for words in lines}
        if self.in_doubt is not None and self.in_doubt not in ids:
            self.forget(self.in_doubt)
        self.in_doubt = None
        for name, topic_id in self.topics.items():
            assert ids.get(name) == topic_id, f"topic {name} was acknowledged"
        for key, end in self.ends.items():
            assert found.get(key, -1) >= end, f"records of {key} were acknowledged"
        # A topic whose creation was not answered any more may be there or not.
        self.topics, self.ends = ids, found


def run_child(root: Path, seed: int, changes: int, kill_after_s: float | None) -> tuple[list[list[str]], str]:
    """The whole lines that a child wrote, and its log."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(root), str(seed), str(changes)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(child.pid, signal.SIGKILL)
    output, log = child.communicate()
    assert child.returncode == (0 if kill_after_s is None else -signal.SIGKILL), log.decode()
    return [line.decode().split() for line in output.split(b"\n")[:-1]], log.decode()


@pytest.mark.parametrize("seed", [1, 2])
def test_topics_and_their_logs_survive_together(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    expectation = Expectation()
    starts = 0
    for round_number in range(8):
        is_last = round_number == 7
        kill_after_s = None if is_last else chance.uniform(0.05, 0.6)
        lines, log = run_child(tmp_path, seed * 100 + round_number, 40 if is_last else 100_000, kill_after_s)
        assert "Traceback" not in log
        assert "-stray" not in log
        if ["started"] in lines:
            starts += 1
            started = lines.index(["started"])
            expectation.check_start(lines[:started])
            for words in lines[started + 1 :]:
                expectation.hear(words)
    assert starts >= 1
    left = {path.name for name in ("a", "b") for path in (tmp_path / name).iterdir() if path.is_dir()}
    known = {f"{name}-{partition}" for name, partition in expectation.ends}
    assert {name for name in left if not name.endswith("-delete")} == known
