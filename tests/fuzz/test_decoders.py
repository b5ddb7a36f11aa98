"""The fuzzers at CI size: every kept input, and the first cases of fixed seeds; bin/test-sanitized runs them too."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.fuzz.mutation import VARINTS, Mutator, unsigned_varint
from tests.fuzz.targets import NAMES, Target, load_target
from tests.fuzz.worker import peak_bytes

# About a second each in the release build.
CASES = {
    "frames": 300,
    "headers": 4000,
    "broker_answers": 2000,
    "batches": 3000,
    "fetched": 750,
    "indexes": 1500,
    "snapshots": 3000,
    "checkpoints": 4000,
    "group_log": 250,
}
SEEDS_OF_APIS, CASES_OF_AN_API = 48, 75
GROWTH_BYTES = 256 << 20


@pytest.fixture(params=NAMES, scope="module")
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    target = load_target(request.param)
    yield target
    target.close()


def test_kept_inputs(target: Target) -> None:
    kept = target.corpus()
    assert kept
    for data in kept.values():
        target.check(data)


def test_first_cases(target: Target) -> None:
    before = peak_bytes()
    seeds = range(SEEDS_OF_APIS) if target.name == "apis" else range(1)
    for seed in seeds:
        source = random.Random(f"{target.name} {seed}")
        for number in range(CASES.get(target.name, CASES_OF_AN_API)):
            data = target.generate(source, seed)
            try:
                target.check(data)
            except Exception as error:
                error.add_note(f"seed {seed}, case {number}: {data[:400].hex()}")
                raise
    assert peak_bytes() - before < GROWTH_BYTES


def test_the_same_seed_makes_the_same_cases(target: Target) -> None:
    first, second = ([target.generate(random.Random(7), 7) for _ in range(20)] for _ in range(2))
    assert first == second


def test_mutations_change_what_they_are_given() -> None:
    mutator = Mutator(random.Random(1))
    data = bytes(range(100))
    assert sum(mutator.mutated(data) != data for _ in range(1000)) > 900
    assert unsigned_varint(300) == b"\xac\x02"
    assert len(set(VARINTS)) == len(VARINTS)
