"""Clients of other makes at full size: a million records each (200,000 in pure Python) against one broker at once.

`KCLI_INTEROP_RECORDS` makes it smaller or larger. A case is a record that was read back and found right. The even
seeds end the broker by kill -9, the odd ones cleanly.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.broker_process import BrokerProcess
from tests.interop.exchange import Exchange, records_wanted
from tests.interop.java_tools import VERSIONS
from tests.interop.scenarios import CLIENTS

PACKAGES = ("kcore",)
FULL_RECORDS = 1_000_000
CLIENT_PROCESSES = 4


def run(seed: int) -> int:
    spawned = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as directory,
        BrokerProcess(Path(directory) / "data") as broker,
        ProcessPoolExecutor(CLIENT_PROCESSES, spawned) as pool,
    ):
        exchange = Exchange(broker.bootstrap_server, pool, records_wanted(FULL_RECORDS), VERSIONS)
        exchange.create_topics()
        timed("written by all", exchange.write_all)
        read = 0
        for client in CLIENTS:
            read += timed(f"{client} by offset", lambda client=client: exchange.read_by_offset(client))
            read += timed(f"{client} as a group", lambda client=client: exchange.read_as_group(client))
        read += timed("one group of all clients", exchange.read_as_mixed_group)
        for version in VERSIONS:
            read += timed(f"Kafka's tools {version}", lambda version=version: exchange.read_with_java(version))
        broker.restart(kill=seed % 2 == 0)
        read += timed("by offset after the restart", lambda: exchange.read_by_offset("confluent-kafka"))
        for client in CLIENTS:
            read += timed(f"{client} by timestamp", lambda client=client: exchange.read_by_timestamp(client))
    return read


def timed(name: str, piece: Callable[[], int]) -> int:
    """Says on stderr how long it took."""
    started = time.monotonic()
    count = piece()
    seconds = time.monotonic() - started
    print(f"interop: {name}: {count:,} records in {seconds:.1f} s", file=sys.stderr, flush=True)
    return count
