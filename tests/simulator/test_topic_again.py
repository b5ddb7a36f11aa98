"""A topic that is deleted and created again under its name, with a crash at every change of the disk in between.

The log manager does not write checkpoints when it deletes a log: whatever is left of the old log in them, the new log
starts at offset 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kcore.config.broker import BrokerConfig
from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from kcore.record.encoder import encode_batch
from kcore.storage.log_dir_scan import HostedTopic
from kcore.storage.log_manager import LogManager
from tests.simulator.manual_scheduler import ManualScheduler

START_MS = 1_700_000_000_000
CLUSTER = "mvrzJFkYTLCpF0j0Wz4wWw"
OLD_ID, NEW_ID = b"o" * 16, b"n" * 16
OTHERS_ID = b"x" * 16
BATCH = encode_batch([(b"key", b"value")], timestamp=START_MS)
OLD_RECORDS, OLD_START = 5, 3
PLACE = ("orders", 0)
MOST_CHANGES = 400


class Life:
    """`topics` and `deleted` are the cluster's metadata, which no crash takes away."""

    def __init__(self, seed: int) -> None:
        self.memory = MemoryDisk(now_ms=START_MS, volatile_cache=True)
        self.disk = FailingDisk(self.memory, seed)
        self.topics = {"orders": OLD_ID, "others": OTHERS_ID}
        self.deleted: tuple[bytes, ...] = ()
        self.acknowledged = 0
        self.start()
        log = self.manager.get_or_create_log(*PLACE, OLD_ID)
        for _ in range(OLD_RECORDS):
            log.append(BATCH)
        log.flush()
        log.advance_high_watermark(OLD_RECORDS)
        log.increment_start_offset(OLD_START)
        self.manager.get_or_create_log("others", 0, OTHERS_ID).append(BATCH)
        self.manager.save_start_offsets([PLACE])
        self.manager.checkpoints.write_recovery_points()
        self.manager.checkpoints.write_high_watermarks()

    def start(self) -> None:
        self.manager = LogManager(self.disk, ["/data"], BrokerConfig({}), ManualScheduler(self.memory.now_ms))
        self.manager.open()
        hosted = {name: HostedTopic(topic_id, (0,)) for name, topic_id in self.topics.items()}
        self.manager.startup(1, CLUSTER, hosted, self.deleted)
        for name, topic_id in self.topics.items():
            self.manager.get_or_create_log(name, 0, topic_id)

    def script(self) -> Iterator[None]:
        self.deleted = (OLD_ID,)
        del self.topics["orders"]
        self.manager.delete_logs([PLACE])
        yield
        self.topics["orders"] = NEW_ID
        log = self.manager.get_or_create_log(*PLACE, NEW_ID, is_new=True)
        yield
        log.append(BATCH)
        log.flush()
        self.acknowledged = log.end_offset
        yield
        self.manager.checkpoints.write_high_watermarks()
        yield

    def live(self) -> None:
        try:
            for _ in self.script():
                if self.disk.has_crashed:
                    return
        except Exception:
            if not self.disk.has_crashed:
                raise

    def crash(self, *, by_power: bool, seed: int) -> None:
        self.disk.crash()
        self.manager.shutdown()
        if by_power:
            self.memory.restore_power(seed)
        self.disk.heal()


@pytest.mark.parametrize("by_power", [True, False], ids=["power", "kill"])
def test_a_topic_of_the_same_name_inherits_nothing_after_a_crash(by_power: bool) -> None:
    for change in range(1, MOST_CHANGES):
        life = Life(change)
        life.disk.crash_at(change)
        life.live()
        is_over = not life.disk.has_crashed
        life.crash(by_power=by_power, seed=change)
        life.start()
        log = life.manager.get_log(*PLACE)
        if life.topics.get("orders") == NEW_ID:
            assert log is not None
            assert log.start_offset == 0
            assert life.acknowledged <= log.end_offset <= 1
            assert life.manager.checkpointed_high_watermark(*PLACE) <= log.end_offset
            assert log.append(BATCH)
        else:
            assert log is None
        life.manager.shutdown()
        if is_over:
            return
    raise AssertionError(f"the script has more than {MOST_CHANGES} changes")
