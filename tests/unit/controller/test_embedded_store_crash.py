"""The embedded store under kill -9: whatever was answered is there, and at most the change in flight besides.

A child process makes random changes and writes one line after each commit; it is killed at a random moment, also while
it makes or recovers the file, and the next child goes on where it left off. The oracle is the list of the lines,
replayed over a plain dictionary.
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

from kcore.controller.embedded_store import EmbeddedMetadataStore

CHILD = """
import random, sys
from kcore.controller.embedded_store import EmbeddedMetadataStore
from kcore.metadata.image import PartitionState, TopicImage

path, seed = sys.argv[1], int(sys.argv[2])
chance = random.Random(seed)
store = EmbeddedMetadataStore(path)
store.open()
epoch = store.claim_controller(1)

def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()

say("open")
while True:
    topics = store.image.topics
    choice = chance.random()
    if choice < 0.4 and len(topics) < 20:
        name = f"t{chance.randrange(40)}"
        if name not in topics:
            topic_id = chance.randbytes(16)
            count = chance.randint(1, 30)
            say("try", "create", name, topic_id.hex(), count)
            states = [PartitionState(name, index, (1,), (1,), 1) for index in range(count)]
            store.create_topic(epoch, TopicImage(name, topic_id, states), {"retention.ms": str(count)})
            say("done")
    elif choice < 0.5 and topics:
        name = chance.choice(sorted(topics))
        say("try", "delete", name)
        store.delete_topic(epoch, topics[name].topic_id)
        say("done")
    elif choice < 0.9 and topics:
        name = chance.choice(sorted(topics))
        epoch_of = topics[name].partitions[0].partition_epoch + 1
        say("try", "update", name, epoch_of)
        store.update_partition_states(
            epoch, [state.replace(leader_epoch=epoch_of, partition_epoch=epoch_of) for state in topics[name].partitions]
        )
        say("done")
    else:
        say("try", "ids", 0)
        say("block", store.allocate_producer_ids(epoch)[0])
        say("done")
"""

Topics = dict[str, tuple[str, int, int]]


def apply(topics: Topics, words: list[str]) -> Topics:
    """The topics (id, partitions, epoch) after a change."""
    after = dict(topics)
    kind, name, *rest = words
    if kind == "create":
        after[name] = (rest[0], int(rest[1]), 0)
    elif kind == "delete":
        del after[name]
    elif kind == "update":
        topic_id, count, _ = after[name]
        after[name] = (topic_id, count, int(rest[0]))
    return after


def stored_topics(path: Path) -> Topics:
    store = EmbeddedMetadataStore(str(path))
    store.open()
    try:
        topics = {}
        for name, topic in store.image.topics.items():
            (epoch,) = {state.partition_epoch for state in topic.partitions}
            assert {state.leader_epoch for state in topic.partitions} == {epoch}
            assert store.image.topic_configs(name) == {"retention.ms": str(len(topic.partitions))}
            topics[name] = (topic.topic_id.hex(), len(topic.partitions), epoch)
        return topics
    finally:
        store.close()


def run_and_kill(path: Path, seed: int, after_s: float, *, is_open: bool) -> list[list[str]]:
    """The lines of a child that was killed so long after its start, or after it has opened the store; a last line that
    was cut is none."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), str(seed)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    if is_open:
        assert child.stdout.readline() == b"open\n"
    time.sleep(after_s)
    os.kill(child.pid, signal.SIGKILL)
    output = child.stdout.read()
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    return [line.decode().split() for line in output.split(b"\n")[:-1]]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_was_answered_survives(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "m.sqlite"
    topics: Topics = {}
    blocks: list[int] = []
    committed = 0
    for child_seed in range(8):
        pending: list[str] | None = None
        is_open = child_seed % 4 != 3
        for words in run_and_kill(path, seed * 100 + child_seed, chance.uniform(0.0, 0.3), is_open=is_open):
            if words[0] == "try":
                pending = words[1:]
            elif words[0] == "open":
                continue
            elif words[0] == "block":
                blocks.append(int(words[1]))
            else:
                assert pending is not None
                topics, pending = apply(topics, pending), None
                committed += 1
        allowed = [topics] if pending is None else [topics, apply(topics, pending)]
        topics = stored_topics(path)
        assert topics in allowed
    assert len(set(blocks)) == len(blocks), "producer ids are given once"
    assert committed > 0
