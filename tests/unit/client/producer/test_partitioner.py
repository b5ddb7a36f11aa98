"""Partitions of keys: the same ones as kafka-python's partitioner, and values of Java's Utils.murmur2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as murmur2_of_kafka_python  # type: ignore[import-untyped]

from kcore.client.producer.partitioner import murmur2, partition_for_key

JAVA_VALUES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "value"), JAVA_VALUES.items())
def test_values_of_java(key: bytes, value: int) -> None:
    assert murmur2(key) == value


@given(st.binary(max_size=64), st.integers(1, 1000))
def test_kafka_python_agrees(key: bytes, count: int) -> None:
    assert murmur2(key) & 0xFFFFFFFF == murmur2_of_kafka_python(key)
    assert partition_for_key(key, count) == (murmur2_of_kafka_python(key) & 0x7FFFFFFF) % count


def test_a_topic_without_partitions_is_refused() -> None:
    with pytest.raises(ValueError, match="0 partitions"):
        partition_for_key(b"k", 0)
