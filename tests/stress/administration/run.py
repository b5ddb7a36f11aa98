"""One run: a broker, pairs of APIs one after the other, then the reckoning and a restart."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from itertools import combinations_with_replacement
from pathlib import Path

from tests.stress.administration.bounds import RELEASE, SANITIZED, Watch
from tests.stress.administration.clients import Race, Racer, Witness
from tests.stress.administration.requests import REQUESTS
from tests.stress.administration.state import Observer, State, check_directories
from tests.stress.broker import Build, StressedBroker
from tests.stress.connection import Connection
from tests.stress.partition_history import Violation
from tests.stress.run import complain

RACERS = 12


def overrides(source: random.Random) -> dict[str, str]:
    """What the broker is started with: nothing that a client waits for, and bounds that are met."""
    return {
        "metrics.port": "0",
        "kcli.fast.path.enable": source.choice(("true", "true", "false")),
        "num.io.threads": source.choice(("4", "8")),
        "auto.create.topics.enable": "true",
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "2",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "100",
        "group.max.size": "4",
        "group.consumer.max.size": "2",
        "log.segment.delete.delay.ms": source.choice(("0", "200", "60000")),
        "log.initial.task.delay.ms": "100",
        "log.retention.check.interval.ms": "250",
        "log.flush.offset.checkpoint.interval.ms": source.choice(("100", "60000")),
        "log.flush.start.offset.checkpoint.interval.ms": source.choice(("100", "60000")),
        "replica.high.watermark.checkpoint.interval.ms": source.choice(("100", "5000")),
    }


def race_administration(directory: Path, seed: int, seconds: float, build: Build) -> Counter[str]:
    """Raises what rule was broken; gives the counts of what was done."""
    started_with = overrides(random.Random(seed))
    broker = StressedBroker(directory, build, started_with)
    bounds = SANITIZED if build.thread_sanitizer else RELEASE
    race = Race(broker.port, seed, bounds.latency_s)
    witness = Witness(race)
    watch = Watch(broker, bounds)
    try:
        try:
            asyncio.run(work(race, witness, watch, seconds))
            before = asyncio.run(observe(race))
            log_bytes = len(broker.server.log())
            broker.stop()
            check_directories(directory / "data", before.topics)
            broker.start()
            race.port = broker.port
            after = asyncio.run(observe(race))
            if after != before:
                raise Violation(f"a restart found {after}, and before it there was {before}")
            asyncio.run(reckon(witness))
            broker.stop()
            check_directories(directory / "data", after.topics)
            if log_bytes > bounds.log_bytes_per_request * max(1_000, race.counts["requests"]):
                raise Violation(f"{log_bytes} bytes of log for {race.counts['requests']} requests")
        finally:
            complain(broker)
        race.counts["MiB more"] = (watch.most_bytes - watch.first_bytes) >> 20
        race.counts["ms at most"] = int(race.slowest_s * 1_000)
        return race.counts
    except BaseExceptionGroup as group:
        # What ends the whole run, such as a signal, is no finding of a client.
        ends = [error for error in group.exceptions if not isinstance(error, Exception)]
        group.add_note(f"seed {seed}, broker {started_with}, {pair_of(race)}, {watch}")
        raise (ends[0] if ends else group) from None
    except Exception as error:
        error.add_note(f"seed {seed}, broker {started_with}, {pair_of(race)}, {watch}")
        raise
    finally:
        broker.kill()


def pair_of(race: Race) -> str:
    return " and ".join(make.__name__ for make in race.pair)


async def work(race: Race, witness: Witness, watch: Watch, seconds: float) -> None:
    """Every pair, in an order of the seed's; the first violation ends the run."""
    pairs = list(combinations_with_replacement(REQUESTS, 2))
    random.Random(race.seed).shuffle(pairs)
    async with asyncio.TaskGroup() as group:
        group.create_task(watch.run(race.over))
        group.create_task(witness.run())
        for number in range(RACERS):
            group.create_task(Racer(race, number).run())
        for pair in pairs:
            race.pair = pair
            race.counts["pairs"] += 1
            await asyncio.sleep(seconds / len(pairs))
        race.over.set()


async def observe(race: Race) -> State:
    connection = await Connection.open(race.port, "observer", race.latency_s)
    try:
        return await Observer(connection).state()
    finally:
        connection.abort()


async def reckon(witness: Witness) -> None:
    """What the well-behaved client was promised holds after the restart."""
    await witness.check_commit()
    await witness.write_and_read()
    witness.close()
