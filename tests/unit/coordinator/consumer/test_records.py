"""Records of consumer groups: the bytes that Apache Kafka 4.3.1 wrote are read, and written alike."""

from __future__ import annotations

import pytest

from kcore.coordinator.group.consumer import records
from kcore.coordinator.group.consumer.group import ConsumerGroup
from kcore.coordinator.group.consumer.member import (
    STABLE,
    UNKNOWN,
    UNREVOKED_PARTITIONS,
    ClassicMember,
    ConsumerMember,
)
from kcore.coordinator.group.consumer.subscription import ResolvedRegex
from kcore.protocol.records import CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE

ORDERS = bytes.fromhex("580aaac5af38497e888bb8b3bcbceccb")
# What was written for the groups "g" and "rx" by a member of ConsumerGroupHeartbeat 1.
MEMBER = (
    bytes.fromhex("000500016700026d31"),
    bytes.fromhex("00000000047261770b2f3132372e302e302e3102076f726465727301000075300001000100"),
)
GROUP_EPOCH = (
    bytes.fromhex("0003000167"),
    bytes.fromhex("0000000000020100088d0b14721c1f3ce5"),
)
TARGET = (
    bytes.fromhex("000700016700026d31"),
    bytes.fromhex("000002580aaac5af38497e888bb8b3bcbceccb040000000000000001000000020000"),
)
TARGET_EPOCH = (
    bytes.fromhex("0006000167"),
    bytes.fromhex("000000000002010008000001a2010a0db0"),
)
CURRENT = (
    bytes.fromhex("000800016700026d31"),
    bytes.fromhex(
        "000000000002000000000002580aaac5af38497e888bb8b3bcbceccb0400000000000000010000000201000d040000000200"
        "000002000000020100"
    ),
)
CURRENT_UNREVOKED = (
    bytes.fromhex("000800016700026d31"),
    bytes.fromhex(
        "000000000002000000020102580aaac5af38497e888bb8b3bcbceccb03000000000000000101000903000000020000000202"
        "580aaac5af38497e888bb8b3bcbceccb0200000002010005020000000200"
    ),
)
STATIC_MEMBER = (
    bytes.fromhex("000500016700027331"),
    bytes.fromhex("000003693100047261770b2f3132372e302e302e3102076f726465727301000075300001000100"),
)
REGEX = (
    bytes.fromhex("00100002727800036f2e2a"),
    bytes.fromhex("000003076f7264657273066f746865720000000000000023000001a2010a12e900"),
)
LEFT = (
    "00080002727800027231",
    "00070002727800027231",
    "00050002727800027231",
    "00100002727800036f2e2a",
)
GROUP_GONE = (
    "000600027278",
    "000400027278",
    "000300027278",
)


def group_of(*written: records.Record) -> ConsumerGroup:
    group = ConsumerGroup("g")
    for key, value in written:
        group.apply(*records.decode(key, value))
    return group


def test_a_member_is_written_as_kafka_writes_it() -> None:
    member = group_of(MEMBER).members["m1"]
    assert (member.client_id, member.client_host, member.rebalance_timeout_ms) == ("raw", "/127.0.0.1", 30_000)
    assert member.subscribed_topic_names == {"orders"}
    assert not member.uses_classic_protocol
    assert records.member("g", member) == MEMBER
    static = group_of(STATIC_MEMBER).static_member("i1")
    assert static is not None
    assert records.member("g", static) == STATIC_MEMBER


def test_a_classic_member_keeps_its_protocols() -> None:
    member = ConsumerMember("c", classic=ClassicMember(30_000, (("range", b"one"), ("sticky", b"two"))))
    assert group_of(records.member("g", member)).members["c"].classic == member.classic


def test_epochs_are_written_as_kafka_writes_them() -> None:
    group = group_of(GROUP_EPOCH, TARGET_EPOCH)
    assert (group.epoch, group.assignment_epoch, group.metadata_hash) == (2, 2, -8283504609287258907)
    assert records.group_epoch("g", 2, -8283504609287258907) == GROUP_EPOCH
    assert records.target_epoch("g", 2, 1795313765808) == TARGET_EPOCH


def test_assignments_are_written_as_kafka_writes_them() -> None:
    group = group_of(MEMBER, TARGET, CURRENT)
    assert group.targets == {"m1": {ORDERS: frozenset((0, 1, 2))}}
    member = group.members["m1"]
    assert (member.member_epoch, member.state, member.assigned) == (2, STABLE, {ORDERS: {0: 2, 1: 2, 2: 2}})
    assert records.target("g", "m1", group.targets["m1"]) == TARGET
    assert records.current("g", member) == CURRENT
    member = group_of(MEMBER, CURRENT_UNREVOKED).members["m1"]
    assert (member.state, member.pending_revocation) == (UNREVOKED_PARTITIONS, {ORDERS: {2: 2}})
    assert records.current("g", member) == CURRENT_UNREVOKED


def test_a_pattern_is_written_as_kafka_writes_it() -> None:
    resolved = group_of(REGEX).resolved_regexes["o.*"]
    assert resolved.topics == {"orders", "other"}
    assert records.regex("rx", "o.*", ResolvedRegex(resolved.topics, 35, 1795313767145)) == REGEX


def test_members_and_groups_are_deleted_in_kafkas_order() -> None:
    gone = [*records.member_tombstones("rx", "r1"), records.regex_tombstone("rx", "o.*")]
    assert [(key.hex(), value) for key, value in gone] == [(key, None) for key in LEFT]
    gone = records.group_tombstones("rx", [], [])
    assert [(key.hex(), value) for key, value in gone] == [(key, None) for key in GROUP_GONE]


def test_a_tombstone_of_nothing_says_nothing() -> None:
    group = group_of(*((bytes.fromhex(key), None) for key in LEFT))
    assert (group.members, group.targets, group.resolved_regexes) == ({}, {}, {})


@pytest.mark.parametrize("epochs", [None, [7]])
def test_before_4_3_nobody_said_since_when_a_partition_is_had(epochs: list[int] | None) -> None:
    rows = [{"topic_id": ORDERS, "partitions": [0, 4], "assignment_epochs": epochs}]
    value = CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE.encode(
        0, {"member_epoch": 9, "previous_member_epoch": 8, "state": 0, "assigned_partitions": rows}
    )
    assert group_of(MEMBER, (CURRENT[0], value)).members["m1"].assigned == {ORDERS: {0: 9, 4: 9}}


def test_a_state_from_the_future_is_unknown() -> None:
    value = CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE.encode(0, {"member_epoch": 9, "state": 5})
    assert group_of((CURRENT[0], value)).members["m1"].state == UNKNOWN
