"""A partition as leader: what it acknowledges, and who waits for it."""

from __future__ import annotations

import errno
import threading

from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from kcore.purgatory.purgatory import Purgatory
from kcore.replication.partition import Partition
from kcore.replication.replica_manager import ReplicaManager
from kcore.storage.log import Log
from tests.unit.storage.log_place import LogPlace, batch

ALL_REPLICAS = -1
NOT_LEADER_OR_FOLLOWER = 6
KAFKA_STORAGE_ERROR = 56


def led(log: Log, epoch: int = 0) -> Partition:
    """The partition of a log, led by broker 1, which is alone."""
    replicas = ReplicaManager(1, Purgatory("Fetch", manual_clock=True), Purgatory("Produce", manual_clock=True))
    partition = replicas.add("orders", 0, bytes(16), log)
    partition.make_leader(epoch, [1], [1], 1)
    return partition


def test_a_duplicate_does_not_wait_for_what_the_first_append_has_not_published_yet() -> None:
    """Its answer would wait in the purgatory for a wake-up that a leader alone in the ISR never gives."""
    log = LogPlace(MemoryDisk(), "/data/orders-0").open()
    partition = led(log)
    records = batch(2, producer_id=4, producer_epoch=0, base_sequence=0)
    log.append(records)
    assert partition.high_watermark == 0, "the first append has not come to the high watermark yet"
    outcome = partition.append_records(records, ALL_REPLICAS)
    assert (outcome.error, outcome.duplicate, outcome.base_offset) == (0, True, 0)
    assert partition.high_watermark == 2


def test_a_read_that_fails_after_its_search_takes_the_log_offline() -> None:
    failing = FailingDisk(MemoryDisk())
    log = LogPlace(failing, "/data/orders-0").open()
    partition = led(log)
    partition.append_records(batch(value=bytes(1000)))
    assert partition.fetch(0, 5000, 1).error == 0
    # The position of the batch is known, so the only read is that of its bytes.
    failing.fail(["pread"], errno.EIO, path="*.log")
    assert partition.fetch(0, 5000, 1).error == KAFKA_STORAGE_ERROR
    failing.heal()
    assert partition.fetch(0, 5000, 1).error == KAFKA_STORAGE_ERROR
    assert log.is_offline


def test_a_reader_of_a_partition_that_goes_is_not_told_of_a_disk_failure() -> None:
    """As a deletion does it: the partition is closed, then its log, while a fetch may be between the two."""
    told = set()
    for _ in range(40):
        log = LogPlace(MemoryDisk(), "/data/orders-0").open()
        partition = led(log)
        partition.append_records(batch())
        reading = threading.Event()

        def read(partition: Partition = partition, reading: threading.Event = reading) -> None:
            error = 0
            while error == 0:
                error = partition.fetch(0, 1000, 1).error
                reading.set()
            told.add(error)

        reader = threading.Thread(target=read)
        reader.start()
        assert reading.wait(60)
        partition.close()
        log.close(for_deletion=True)
        reader.join()
    assert told == {NOT_LEADER_OR_FOLLOWER}
