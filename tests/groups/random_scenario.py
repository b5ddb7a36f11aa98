"""Scenarios by seed: up to fifty members of any client, who join, are killed, sleep, wake up, leave and return.

Several act at once in every step, so that two brokers are compared in what must be the same all the same: how large the
shares are, that everything is read and committed, which errors there are but those of a rebalance.
"""

from __future__ import annotations

import random
from typing import TypeAlias

from tests.groups.scenario import (
    COOPERATIVE_STICKY,
    RANGE,
    ROUND_ROBIN,
    Join,
    Kill,
    Leave,
    Member,
    Pause,
    Resume,
    Scenario,
    Step,
)
from tests.groups.scenarios import AIOKAFKA, CONFLUENT, JAVA, KAFKA_PYTHON

Kind: TypeAlias = type[Join] | type[Leave] | type[Kill] | type[Pause] | type[Resume]

STEPS = 7
SIZES = (1, 2, 3, 5, 8, 13, 20, 30, 50)
# A JVM each.
MOST_OF_JAVA = 5
WEIGHTS = {CONFLUENT: 6, KAFKA_PYTHON: 2, AIOKAFKA: 2, JAVA: 1}
# Who has cooperative-sticky and understands each other's.
COOPERATIVE = (CONFLUENT, JAVA)
SESSION_MS = 6_000


def random_scenario(seed: int) -> Scenario:
    dice = random.Random(seed)
    size = dice.choice(SIZES)
    assignor = dice.choice((RANGE, ROUND_ROBIN, COOPERATIVE_STICKY))
    members = {f"m{number}": Member(client, assignor) for number, client in enumerate(clients(dice, size, assignor))}
    return Scenario(
        f"seed {seed}, {size} by {assignor}",
        members,
        tuple(steps(dice, list(members))),
        partitions=dice.choice((1, size, 2 * size, 3 * size + 1)),
        session_ms=SESSION_MS,
    )


def clients(dice: random.Random, size: int, assignor: str) -> list[str]:
    weights = {one: weight for one, weight in WEIGHTS.items() if assignor != COOPERATIVE_STICKY or one in COOPERATIVE}
    found = dice.choices(list(weights), list(weights.values()), k=size)
    java = [number for number, client in enumerate(found) if client == JAVA]
    for number in java[MOST_OF_JAVA:]:
        found[number] = CONFLUENT
    return found


def steps(dice: random.Random, names: list[str]) -> list[Step]:
    """At least one member lives at the end of each step."""
    away, present, asleep = names[:], list[str](), list[str]()

    def some(of: list[str], at_least: int = 1) -> tuple[str, ...]:
        return tuple(dice.sample(of, dice.randint(at_least, len(of))))

    found = []
    for number in range(STEPS):
        kinds: list[Kind] = [Join] if away else []
        if asleep:
            kinds.append(Resume)
        if len(present) > 1:
            kinds += [Kill, Kill, Leave, Pause]
        if not kinds:
            break
        kind = dice.choice(kinds) if present else Join
        source = {Join: away, Resume: asleep}.get(kind, present[1:])
        chosen = some(source)
        found.append(Step(f"{number}: {kind.__name__.lower()} {len(chosen)}", (kind(chosen),), at_once=True))
        target = {Join: present, Resume: present, Kill: away, Leave: away, Pause: asleep}[kind]
        target += chosen
        for group in (away, present, asleep):
            if group is not target:
                group[:] = [name for name in group if name not in chosen]
        dice.shuffle(present)
    return found
