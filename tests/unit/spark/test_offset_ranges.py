"""How ranges are cut, limits spread and offsets written: no Spark, no broker."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore.client.metadata.cluster import TopicPartition
from kspark.admission import Admission, spread
from kspark.offset_range import OffsetRange, cut
from kspark.stream_offset import StreamOffset

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
ID, OTHER_ID = bytes(range(16)), bytes(range(1, 17))


def ranges(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange(TopicPartition("t", index), ID, 100, 100 + size) for index, size in enumerate(sizes)]


@given(
    st.lists(st.integers(0, 10**12), max_size=20),
    st.none() | st.integers(1, 200),
    st.none() | st.integers(10**9, 10**12),
)
def test_pieces_are_the_whole_in_order(sizes: list[int], least: int | None, most: int | None) -> None:
    pieces = cut(ranges(*sizes), least_tasks=least, most_offsets=most)
    for whole in ranges(*sizes):
        mine = [piece for piece in pieces if piece.partition == whole.partition]
        position = whole.start
        for piece in mine:
            assert piece.start == position < piece.end
            position = piece.end
        assert position == whole.end
    assert most is None or all(piece.size <= most for piece in pieces)


def test_a_skewed_partition_is_cut_and_the_small_ones_are_not() -> None:
    pieces = cut(ranges(1000, 10, 10), least_tasks=6)
    assert [piece.size for piece in pieces] == [250, 250, 250, 250, 10, 10]
    assert cut(ranges(1000, 10, 10), least_tasks=3) == ranges(1000, 10, 10)
    assert [piece.size for piece in cut(ranges(7, 0), most_offsets=3)] == [2, 2, 3]
    assert cut(ranges(0, 0), least_tasks=4) == []


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20), st.integers(1, 10**6)
)
def test_a_limit_is_spread_by_what_there_is(bounds: list[tuple[int, int]], most: int) -> None:
    start = {TopicPartition("t", index): low for index, (low, _) in enumerate(bounds)}
    latest = {TopicPartition("t", index): low + size for index, (low, size) in enumerate(bounds)}
    ends = spread(start, latest, most)
    taken = {partition: ends[partition] - start[partition] for partition in start}
    assert all(start[partition] <= ends[partition] <= latest[partition] for partition in start)
    # Each that has something is read on, so that small ones may add one offset each.
    assert sum(taken.values()) <= most + len(bounds)
    assert all(taken[partition] > 0 for partition in start if latest[partition] > start[partition])


def test_a_batch_waits_for_enough_but_not_for_ever() -> None:
    admission = Admission(least=100, most=None, delay_ms=1000)
    assert admission.end_of_batch({A0: 0}, {A0: 5}, now_ms=0) == {A0: 5}, "the first waits for nobody"
    assert admission.end_of_batch({A0: 5}, {A0: 50}, now_ms=500) == {A0: 5}
    assert admission.end_of_batch({A0: 5}, {A0: 105}, now_ms=600) == {A0: 105}
    assert admission.end_of_batch({A0: 105}, {A0: 106}, now_ms=1599) == {A0: 105}
    assert admission.end_of_batch({A0: 105}, {A0: 106}, now_ms=1600) == {A0: 106}


def test_an_offset_is_written_as_sparks_source_writes_it_with_ids_beside() -> None:
    offset = StreamOffset({B0: 3, A1: 2, A0: 1}, {"a": ID, "b": bytes(16)})
    document = offset.document()
    assert (
        json.dumps(document) == '{"a": {"0": 1, "1": 2}, "b": {"0": 3}, "@topic-ids": {"a": "AAECAwQFBgcICQoLDA0ODw"}}'
    )
    read = StreamOffset.read(json.loads(json.dumps(document)))
    assert (read.offsets, read.topic_ids) == ({A0: 1, A1: 2, B0: 3}, {"a": ID})
    assert StreamOffset.read({"a": {"0": 1}}).topic_ids == {}


@pytest.mark.parametrize("document", [{"a": 5}, {"a": {"x": 5}}, {"a": {"0": None}}, {"@topic-ids": {"a": "short"}}])
def test_an_offset_of_another_source_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="the checkpoint has an invalid offset"):
        StreamOffset.read(document)
