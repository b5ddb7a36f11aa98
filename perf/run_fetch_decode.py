"""What it costs to make records, or columns, of fetched batches: nanoseconds of CPU a record, and times a floor.

    .venv/bin/python -m perf.run_fetch_decode             # 10 B, 100 B and 1 KiB plain, and 100 B in each codec
    .venv/bin/python -m perf.run_fetch_decode --json

Batches of 16 KiB, 8 MiB of them, in memory, with checksums checked. `floor` checksums the same bytes and copies them
once: nobody who hands records over can do less. `arrow` are columns as `take_arrow` gives them, `numpy` as
`take_columns`, `records` are ConsumerRecords, 500 at a time; `decoder` is kcore.record.decoder, which tools use. All of
it is the CPU time of one thread, the best of several rounds taken in turn: compare rows of one run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

from kcore.client.consumer.partition_reader import PartitionReader
from kcore.record.compression import NAMES
from kcore.record.crc import checksum
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch

TOTAL_BYTES = 8 << 20
BATCH_BYTES = 16 << 10
RECORDS_A_POLL = 500
NOW_MS = 1_700_000_000_000
CASES = [(10, 0), (100, 0), (1024, 0), *((100, codec) for codec in range(1, 5))]


def batches_of(size: int, codec: int) -> tuple[bytes, int]:
    """Batches of values of one size, half of each the same in all, and how many records they hold."""
    per_batch = max(1, BATCH_BYTES // (size + 8))
    one: list[bytes] = []
    count = 0
    while count * (size + 8) < TOTAL_BYTES:
        halves = [(b"%d" % (count + i)).ljust(size // 2, b"-")[: size // 2] for i in range(per_batch)]
        rows = [(None, half + b"x" * (size - size // 2), (), NOW_MS) for half in halves]
        one.append(encode_batch(rows, codec=codec, base_offset=count))
        count += per_batch
    return b"".join(one), count


def floor(data: bytes) -> None:
    position = 0
    while position < len(data):
        size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
        checksum(memoryview(data)[position + 21 : position + size])
        position += size
    bytearray(data)


def records(data: bytes) -> None:
    reader = PartitionReader(data, "perf-topic", 3)
    while reader.take(RECORDS_A_POLL):
        pass


def decoder(data: bytes) -> None:
    for batch in decode_batches(data):
        for _ in batch:
            pass


WAYS: dict[str, Callable[[bytes], object]] = {
    "floor": floor,
    "arrow": lambda data: PartitionReader(data, "perf-topic", 3).take_columns(for_arrow=True),
    "numpy": lambda data: PartitionReader(data, "perf-topic", 3).take_columns(),
    "records": records,
    "decoder": decoder,
}


def measure(data: bytes, count: int, rounds: int) -> dict[str, float]:
    """Nanoseconds of this thread's CPU a record, by way."""
    best = dict.fromkeys(WAYS, float("inf"))
    for _ in range(rounds):
        for name, way in WAYS.items():
            began = time.thread_time_ns()
            way(data)
            best[name] = min(best[name], (time.thread_time_ns() - began) / count)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for size, codec in CASES:
        data, count = batches_of(size, codec)
        best = measure(data, count, options.rounds)
        rounded = {name: round(cost, 1) for name, cost in best.items()}
        rows.append({"bytes": size, "codec": NAMES[codec], "count": count} | rounded)
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
        print()
        return 0
    print("ns of CPU a record   " + "".join(f"{name:>18}" for name in WAYS) + "   (times the floor)")
    for row in rows:
        cells = "".join(f"{row[name]:>10.1f} ({row[name] / row['floor']:4.1f})" for name in WAYS)
        print(f"{row['bytes']:>5} B {row['codec']:<12} {cells}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
