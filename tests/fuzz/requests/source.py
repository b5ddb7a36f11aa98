"""The requests of a seed: templates of every API and version that is served, and one mutated request for each index."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from kcore.protocol import apis
from tests.fuzz.requests.batches import Batches
from tests.fuzz.requests.mutation import RequestMutator, hostile_batches
from tests.fuzz.requests.template import Template, write_template
from tests.fuzz.requests.vocabulary import Chooser
from tests.fuzz.requests.world import SERVED, World

CLIENT_ID = "fuzzer"
BATCHES_OF_A_SEED = 60
INDEXES_OF_A_SEED = 1_000_000
# How often an API occurs, in all its versions together. Native readers have more to lose; topics cost files.
WEIGHTS = {
    apis.PRODUCE.key: 12.0,
    apis.FETCH.key: 12.0,
    apis.HEARTBEAT.key: 3.0,
    apis.OFFSET_COMMIT.key: 3.0,
    apis.METADATA.key: 3.0,
    apis.LIST_OFFSETS.key: 2.0,
    apis.JOIN_GROUP.key: 0.5,
    apis.SYNC_GROUP.key: 0.5,
    apis.LEAVE_GROUP.key: 0.5,
    apis.DELETE_GROUPS.key: 0.3,
    apis.CREATE_TOPICS.key: 0.3,
    apis.CREATE_PARTITIONS.key: 0.3,
    apis.DELETE_TOPICS.key: 0.2,
}
TEMPLATES = {apis.PRODUCE.key: 3, apis.FETCH.key: 3}


@dataclass(frozen=True)
class Request:
    """`index` is also its correlation id; `served` are the versions of each API that the broker serves."""

    index: int
    template: Template
    payload: bytes
    steps: list[str]
    is_lie: bool
    served: Mapping[int, range] = field(default_factory=lambda: SERVED, repr=False)

    @property
    def api_key(self) -> int:
        """By its bytes: the header may be mutated too."""
        return int.from_bytes(self.payload[:2], "big", signed=True)

    @property
    def version(self) -> int:
        return int.from_bytes(self.payload[2:4], "big", signed=True)


class RequestSource:
    """Makes the requests of a seed. `keys` are the APIs; None is every API that is served."""

    def __init__(self, seed: int, world: World, keys: Collection[int] | None = None) -> None:
        self.seed = seed
        chance = random.Random(seed)
        batches = Batches(chance, world.producer)
        self.templates: list[Template] = []
        weights: list[float] = []
        self.served = world.served
        for key, versions in world.served.items():
            if keys is not None and key not in keys:
                continue
            api = apis.BY_KEY[key]
            count = TEMPLATES.get(key, 1)
            for version in versions:
                for _ in range(count):
                    chooser = Chooser(api.name, world, batches, chance)
                    self.templates.append(write_template(api, version, chooser, CLIENT_ID))
                    weights.append(WEIGHTS.get(key, 1.0) / len(versions) / count)
        self.cumulated = list(accumulate(weights))
        self.mutator = RequestMutator(world, hostile_batches(batches, BATCHES_OF_A_SEED))
        self.chance = random.Random()

    def request(self, index: int) -> Request:
        """The mutated request of an index, the same at every call."""
        chance = self.chance
        chance.seed(self.seed * INDEXES_OF_A_SEED + index)
        template = self.templates[bisect(self.cumulated, chance.random() * self.cumulated[-1])]
        mutated = self.mutator.mutated(template, chance)
        return Request(index, template, mutated.finish(index), mutated.steps, mutated.is_lie, self.served)
