"""What the options of the source come to, and what is refused."""

from __future__ import annotations

import json

import pytest

from kcore.client.metadata.cluster import TopicPartition
from kspark.offset_policy import AT_EARLIEST, AT_LATEST, Place
from kspark.options import OptionError
from kspark.source_options import SourceOptions, source_options

SERVER = {"kafka.bootstrap.servers": "localhost:9092"}
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def options(*, is_streaming: bool = False, **given: str) -> SourceOptions:
    return source_options({**SERVER, "subscribe": "a,b", **given}, is_streaming=is_streaming)


def test_defaults_are_those_of_sparks_own_source() -> None:
    batch, stream = options(), options(is_streaming=True)
    assert batch.starting.places([A0]) == {A0: AT_EARLIEST}
    assert stream.starting.places([A0]) == {A0: AT_LATEST}
    assert batch.ending.places([A0]) == {A0: AT_LATEST}
    assert batch.fail_on_data_loss
    assert batch.columns == ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
    assert (batch.poll_timeout_ms, batch.offset_retries, batch.offset_retry_ms) == (120_000, 3, 10)
    assert batch.trigger_delay_ms == 15 * 60_000


def test_the_case_of_names_does_not_count() -> None:
    given = {"KAFKA.Bootstrap.Servers": "h:1", "SubscribePattern": "a.*", "FAILONDATALOSS": "False"}
    found = source_options(given, is_streaming=True)
    assert found.client == {"bootstrap.servers": "h:1"}
    assert found.wanted.pattern is not None
    assert found.wanted.pattern.fullmatch("abc")
    assert not found.fail_on_data_loss


def test_columns_come_in_the_order_of_the_schema() -> None:
    assert options(columns="offset, VALUE,headers").columns == ("value", "offset", "headers")
    assert options(includeHeaders="true").columns[-1] == "headers"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("earliest", {A0: AT_EARLIEST, A1: AT_EARLIEST, B0: AT_EARLIEST}),
        ('{"a": {"0": 23, "1": -2}, "b": {"0": 0}}', {A0: Place(23), A1: AT_EARLIEST, B0: Place(0)}),
        ('{"a": {"0": 23, "*": "earliest"}, "*": 7}', {A0: Place(23), A1: AT_EARLIEST, B0: Place(7)}),
        (
            '{"a": {"timestamp": 5}, "b": {"0": {"timestamp": 6}}}',
            {A0: Place(None, 5), A1: Place(None, 5), B0: Place(None, 6)},
        ),
    ],
)
def test_where_reading_starts(text: str, places: dict[TopicPartition, Place]) -> None:
    assert options(startingOffsets=text).starting.places([B0, A0, A1]) == places


def test_a_time_for_all_comes_before_times_and_these_before_offsets() -> None:
    given = {"startingOffsets": "earliest", "startingOffsetsByTimestamp": '{"a": {"0": 5}}'}
    assert options(**given).starting.places([A0]) == {A0: Place(None, 5)}
    assert options(**given, startingTimestamp="9").starting.places([A0]) == {A0: Place(None, 9)}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"subscribe": " , "}, "at least one topic"),
        ({"assign": '{"a": [0]}'}, "not assign and subscribe"),
        ({"startingOffsets": "latest"}, "startingOffsets must not be latest"),
        ({"startingOffsets": '{"a": {"0": -1}}'}, "startingOffsets must not be latest"),
        ({"endingOffsets": "earliest"}, "there are no records before it"),
        ({"endingOffsets": '{"a": {"0": -2}}'}, "there are no records before it"),
        ({"startingOffsets": "soon"}, "must be JSON"),
        ({"startingOffsets": "[1]"}, "must be a JSON object of topics"),
        ({"startingOffsets": '{"a": {"zero": 1}}'}, "invalid partition 'zero' of a. Write a number"),
        ({"startingOffsets": '{"a": {"0": -3}}'}, "invalid offset -3"),
        ({"startingOffsets": '{"a": {"0": true}}'}, "invalid offset True"),
        ({"startingOffsetsByTimestamp": '{"a": {"0": -5}}'}, "invalid time -5"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "must be error or latest"),
        ({"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}, r"minOffsetsPerTrigger \(5\)"),
        ({"maxOffsetsPerTrigger": "0"}, "at least 1, not 0"),
        ({"minPartitions": "many"}, "whole number, not 'many'"),
        ({"maxTriggerDelay": "soon"}, "such as 500ms, 30s or 15m"),
        ({"failOnDataLoss": "perhaps"}, "true or false"),
        ({"columns": "key,payload"}, "invalid columns 'key,payload'. Valid columns: key, value"),
        ({"kafka.auto.offset.reset": "earliest"}, "startingOffsets"),
        ({"kafka.value.deserializer": "x"}, "values are bytes"),
        ({"kafka.bootstrap.servers": ""}, "must name the cluster"),
        ({"subscribePattern": "(", "subscribe": None}, "is not a regular expression"),
        ({"assign": "[0]", "subscribe": None}, "assign must be a JSON object"),
        ({"assign": "{}", "subscribe": None}, "assign must be a JSON object"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, str | None], says: str) -> None:
    merged = {**SERVER, "subscribe": "a", **given}
    with pytest.raises(OptionError, match=says):
        source_options({name: value for name, value in merged.items() if value is not None}, is_streaming=False)


def test_a_stream_has_no_end() -> None:
    with pytest.raises(OptionError, match="endingTimestamp is for batches only"):
        options(is_streaming=True, endingTimestamp="5")


def test_an_offset_is_said_for_each_partition_and_no_other() -> None:
    policy = options(startingOffsets=json.dumps({"a": {"0": 1}, "c": {"0": 2}})).starting
    with pytest.raises(OptionError, match="no offset for a-1"):
        policy.places([A0, A1])
    with pytest.raises(OptionError, match=r"c-0 is not read\. Partitions that are read: a-0"):
        policy.places([A0])
