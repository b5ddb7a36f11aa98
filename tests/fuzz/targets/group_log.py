"""Records of `__consumer_offsets`, by whoever they were written: a load takes them or passes them over, and what was
loaded can be lived with.

    key length uint16 | key | value length int32, -1 for a tombstone | value,  again and again

After the load every group is looked at, timers ring, offsets expire, and a restart must find what was served before it.
"""

from __future__ import annotations

import random
import struct
from typing import Any

from kcore.config.broker import BrokerConfig
from kcore.coordinator.group.coordinator import GroupCoordinator
from kcore.protocol import records
from kcore.protocol.records import VersionedType
from kcore.record.encoder import encode_batch
from tests.fuzz.grammar import write_message
from tests.fuzz.mutation import Mutator
from tests.fuzz.targets import Target
from tests.simulator.groups.clockwork import Clockwork
from tests.simulator.groups.kept_log import KeptLog
from tests.unit.protocol.samples import sample

# Keys of records, and their values' types by name.
KEYS = {
    name.removesuffix("_KEY"): kept
    for name, kept in vars(records).items()
    if isinstance(kept, VersionedType) and name.endswith("_KEY")
}
VALUES = {name: getattr(records, f"{name}_VALUE") for name in KEYS}
NAMES = ("g", "h", "")
MONTH_MS = 30 * 86_400_000
STEPS = 30

Pair = tuple[bytes, bytes | None]


class GroupLog(Target):
    name = "group_log"
    cases_per_seed = 500

    def generate(self, source: random.Random, seed: int) -> bytes:
        pairs = [self.pair(source) for _ in range(source.choice((1, 2, 5, 12)))]
        if source.random() < 0.3:
            pairs += [(key, None) for key, _ in source.sample(pairs, source.randrange(1, len(pairs) + 1))]
        return b"".join(packed(pair) for pair in pairs)

    def pair(self, source: random.Random) -> Pair:
        name = source.choice(tuple(KEYS))
        key_type, value_type = KEYS[name], VALUES[name]
        version = source.randint(key_type.oldest_version, key_type.latest_version)
        fields: dict[str, Any] = {"group": source.choice(NAMES), "group_id": source.choice(NAMES)}
        fields |= {"topic": source.choice(NAMES), "partition": source.randrange(3)}
        fields |= {"member_id": source.choice(NAMES), "regular_expression": source.choice(NAMES)}
        known = {field.name for field in key_type.message_type.struct.fields}
        key = key_type.encode(version, {field: value for field, value in fields.items() if field in known})
        if source.random() < 0.1:
            key = Mutator(source).mutated(key)
        return key, None if source.random() < 0.15 else self.value(source, value_type)

    def value(self, source: random.Random, kept: VersionedType) -> bytes:
        version = source.randint(kept.oldest_version, kept.latest_version)
        head = version.to_bytes(2, "big")
        chosen = source.random()
        if chosen < 0.5:
            return head + write_message(source, kept.message_type, version)
        if chosen < 0.6:
            return head + write_message(source, kept.message_type, version, 0.05)
        fields = sample(kept.message_type, version, source.choice(("random", "tags")), seed=source.randrange(50))
        return Mutator(source).mutated(kept.encode(version, fields))

    def check(self, data: bytes) -> None:
        pairs = unpacked(data)
        if not pairs:
            return
        clockwork, log = Clockwork(), KeptLog(random.Random(0))
        log.append_records(encode_batch(pairs, timestamp=0), -1, internal=True)
        coordinator = loaded(clockwork, log)
        before = coordinator.committed_offsets()
        assert loaded(clockwork, log).committed_offsets() == before
        look_at(coordinator)
        for _ in range(STEPS):
            clockwork.step()
        clockwork.now_ms += MONTH_MS
        coordinator.clean_up()
        look_at(coordinator)
        assert sorted(loaded(clockwork, log).committed_offsets()) == sorted(coordinator.committed_offsets())
        for group_id, _, members in coordinator.group_states():
            if not members:
                coordinator.delete_group(group_id)
        coordinator.unload(0)
        for _ in range(STEPS):
            clockwork.step()


def loaded(clockwork: Clockwork, log: KeptLog) -> GroupCoordinator:
    config = BrokerConfig({"offsets.topic.num.partitions": "1"})
    time_ms = clockwork.time_ms
    coordinator = GroupCoordinator(config, clockwork, time_ms, time_ms)  # type: ignore[arg-type]
    coordinator.announce(0, 1)
    coordinator.load(log)  # type: ignore[arg-type]
    assert coordinator.coordinates(0)
    return coordinator


def look_at(coordinator: GroupCoordinator) -> None:
    """Everything that is said of groups."""
    error, listed = coordinator.list_groups([], [])
    assert error == 0
    for group in listed:
        coordinator.describe_classic(group.group_id)
        coordinator.describe_consumer(group.group_id)
        coordinator.heartbeat(group.group_id, "g", 1, None)
        coordinator.fetch_offsets(group.group_id, None, require_stable=True)


def packed(pair: Pair) -> bytes:
    key, value = pair
    return (
        struct.pack(">H", len(key))
        + key
        + (struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value)
    )


def unpacked(data: bytes) -> list[Pair]:
    """As far as there is something."""
    pairs: list[Pair] = []
    position = 0
    while position + 2 <= len(data):
        end = position + 2 + int.from_bytes(data[position : position + 2], "big")
        key, length = data[position + 2 : end], int.from_bytes(data[end : end + 4], "big", signed=True)
        position = end + 4 + max(length, 0)
        pairs.append((key, None if length < 0 else data[end + 4 : position]))
    return pairs


def make() -> GroupLog:
    return GroupLog()
