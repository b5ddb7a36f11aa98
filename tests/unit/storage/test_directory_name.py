"""The names of partition directories."""

from __future__ import annotations

import re

import pytest

from kcore.storage.directory_name import DELETE_SUFFIX, directory_name, parse_directory_name, renamed


@pytest.mark.parametrize(("topic", "partition"), [("orders", 0), ("a-b", 12), ("x-0", 1), ("a.b_c", 2**31 - 1)])
def test_names_are_read_as_they_were_written(topic: str, partition: int) -> None:
    assert parse_directory_name(directory_name(topic, partition)) == (topic, partition)


@pytest.mark.parametrize(
    "name", ["orders", "orders-", "-0", "orders-x", "orders-007", "orders-+1", "orders-٣", "lost+found"]
)
def test_names_that_are_no_partitions(name: str) -> None:
    assert parse_directory_name(name) is None


def test_a_renamed_directory_has_kafkas_pattern_and_a_name_of_its_own() -> None:
    names = {renamed("orders", 7, DELETE_SUFFIX) for _ in range(10)}
    assert len(names) == 10
    assert all(re.fullmatch(r"orders-7\.[0-9a-f]{32}-delete", name) for name in names)


def test_the_longest_topic_is_cut_to_fit() -> None:
    name = renamed("x" * 249, 123456, DELETE_SUFFIX)
    assert len(name) == 255
    assert re.fullmatch(r"x+-123456\.[0-9a-f]{32}-delete", name)
