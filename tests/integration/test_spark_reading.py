"""What Spark's executors run, without Spark: ranges of a topic, splits of segment files, and rows that are written."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest

from kcore.client.admin.admin import Admin
from kcore.client.admin.topics import NewTopic
from kcore.client.errors import ClientTimeout
from kcore.client.metadata.cluster import TopicPartition
from kcore.client.producer import Producer
from kcore.record.decoder import decode_batches
from kcore.testing.embedded_broker import EmbeddedBroker
from kspark.cluster_view import ClusterView
from kspark.data_loss import DataLoss
from kspark.log_options import log_options
from kspark.log_segments import splits
from kspark.offset_range import OffsetRange
from kspark.options import OptionError
from kspark.range_reader import kept_consumers, read_range
from kspark.row_writer import WriteError, kept_producers, write_rows
from kspark.segment_reader import read_split
from kspark.sink_options import SinkOptions
from kspark.source_options import SourceOptions, source_options

RECORDS = 500
SEGMENT_BYTES = 2000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    data = tmp_path_factory.mktemp("data")
    # The records are of 2023.
    configs = {"log.segment.bytes": str(SEGMENT_BYTES), "log.retention.ms": "-1"}
    with EmbeddedBroker(configs, data_dir=data) as broker:
        yield broker
        # Or they would ask a broker that is gone, for the rest of the run.
        kept_consumers.close()
        kept_producers.close()


@pytest.fixture
def topic(broker: EmbeddedBroker) -> str:
    """Two partitions of numbered records; every tenth without a key, with headers, and of a batch of its own."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    create(broker, name, 2)
    with Producer(bootstrap_servers=broker.bootstrap_servers, compression_type="zstd") as producer:
        for number in range(RECORDS):
            tenth = number % 10 == 0
            producer.send(
                name,
                b"%d" % number,
                key=None if tenth else b"k%d" % number,
                headers=[("n", b"%d" % number), ("empty", None)] if tenth else None,
                partition=number % 2,
                timestamp=1_700_000_000_000 + number,
            )
            if tenth:
                producer.flush()
    return name


def create(broker: EmbeddedBroker, name: str, partitions: int) -> None:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name, partitions, 1)])


def options(broker: EmbeddedBroker, topic: str, **given: str) -> SourceOptions:
    servers = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic}
    return source_options({**servers, **given}, is_streaming=False)


def read(options: SourceOptions, topic: str, partition: int, start: int, end: int) -> pyarrow.Table:
    wanted = OffsetRange(TopicPartition(topic, partition), bytes(16), start, end)
    return pyarrow.Table.from_batches(list(read_range(options, wanted)))


def test_a_range_is_read_to_the_record(broker: EmbeddedBroker, topic: str) -> None:
    table = read(options(broker, topic, includeHeaders="true"), topic, 1, 3, 248)
    assert table.column("offset").to_pylist() == list(range(3, 248))
    assert [int(value) for value in table.column("value").to_pylist()] == [2 * offset + 1 for offset in range(3, 248)]
    assert table.schema.names[-1] == "headers"
    table = read(options(broker, topic, includeHeaders="true"), topic, 0, 5, 6)
    assert table.to_pylist()[0]["headers"] == [{"key": "n", "value": b"10"}, {"key": "empty", "value": None}]
    assert table.to_pylist()[0]["key"] is None


def test_columns_are_those_that_were_asked_for(broker: EmbeddedBroker, topic: str) -> None:
    assert read(options(broker, topic, columns="offset,value"), topic, 0, 0, 10).schema.names == ["value", "offset"]


def test_places_become_offsets(broker: EmbeddedBroker, topic: str) -> None:
    wanted = options(broker, topic, startingTimestamp=str(1_700_000_000_000 + 100), endingTimestamp="1800000000000")
    view = ClusterView(wanted)
    ids = view.partitions()
    assert {partition.partition for partition in ids} == {0, 1}
    assert set(view.starts(wanted.starting.places(ids)).values()) == {50}
    assert set(view.ends(wanted.ending.places(ids)).values()) == {RECORDS // 2}
    late = options(broker, topic, startingTimestamp="1800000000000")
    with pytest.raises(OptionError, match="no record at or after the starting time"):
        view.starts(late.starting.places(ids))
    view.close()


def test_records_that_are_gone_are_told_or_passed_over(broker: EmbeddedBroker, topic: str) -> None:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        assert admin.delete_records({TopicPartition(topic, 0): 100})[TopicPartition(topic, 0)] == 100
    with pytest.raises(
        DataLoss, match=f"{topic}-0: the log starts at offset .*, but the query needs records from 20 to 120"
    ):
        read(options(broker, topic), topic, 0, 20, 120)
    table = read(options(broker, topic, failOnDataLoss="false"), topic, 0, 20, 120)
    assert table.column("offset").to_pylist() == list(range(100, 120))


def test_a_range_behind_the_end_is_told_or_passed_over(broker: EmbeddedBroker, topic: str) -> None:
    # Each is waited out. Where records come first, it is longer than a machine that stands still keeps them back.
    hasty, patient = ({"kafkaConsumer.pollTimeoutMs": ms} for ms in ("200", "8000"))
    with pytest.raises(DataLoss, match=f"{topic}-0: the log ends at offset 250, but the query needs records up to 300"):
        read(options(broker, topic, **hasty), topic, 0, 250, 300)
    table = read(options(broker, topic, failOnDataLoss="false", **patient), topic, 0, 240, 300)
    assert table.column("offset").to_pylist() == list(range(240, 250))


def test_what_never_comes_ends_by_its_time(broker: EmbeddedBroker, topic: str) -> None:
    times = ("kafkaConsumer.pollTimeoutMs", "kafka.default.api.timeout.ms", "kafka.request.timeout.ms")
    hasty = options(broker, topic, **dict.fromkeys(times, "500"))
    lost = f"{topic}-0: no record at offset 240 within"
    with broker.faults.drop(api="Fetch"), pytest.raises(TimeoutError, match=lost):
        read(hasty, topic, 0, 240, 250)


def test_who_reads_a_topic_that_is_gone_does_not_make_it(broker: EmbeddedBroker) -> None:
    """The broker would make it for the asking."""
    name = f"gone-{uuid.uuid4().hex[:8]}"
    times = ("kafkaConsumer.pollTimeoutMs", "kafka.default.api.timeout.ms", "kafka.request.timeout.ms")
    with pytest.raises((TimeoutError, ClientTimeout)):
        read(options(broker, name, **dict.fromkeys(times, "2000")), name, 0, 0, 10)
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        assert name not in {topic.name for topic in admin.list_topics()}


def test_a_topic_that_is_not_there_is_told(broker: EmbeddedBroker, topic: str) -> None:
    view = ClusterView(options(broker, f"{topic},{topic}-missing"))
    with pytest.raises(OptionError, match=f"subscribe: {topic}-missing does not exist"):
        view.partitions()
    view.close()


def test_segment_files_are_read_without_a_broker(broker: EmbeddedBroker, topic: str) -> None:
    path = Path(broker.data_dir)
    whole = log_options({"path": str(path), "includeHeaders": "true"})
    mine = [split for split in splits(str(path), whole.split_bytes) if split.topic == topic]
    assert len(mine) > 4, "several segments a partition"
    table = pyarrow.Table.from_batches([batch for split in mine for batch in read_split(whole, split)])
    expected = read(options(broker, topic, includeHeaders="true"), topic, 0, 0, 250)
    ours = table.filter(pyarrow.compute.equal(table.column("partition"), 0))
    assert ours.select(expected.schema.names).to_pylist() == expected.to_pylist()
    assert set(table.column("compression").to_pylist()) == {"zstd"}
    assert set(table.column("magic").to_pylist()) == {2}
    places = set(zip(table.column("segment").to_pylist(), table.column("batchPosition").to_pylist(), strict=True))
    assert len(places) > RECORDS // 10, "each tenth was a batch of its own"


def test_splits_are_cut_where_batches_begin(broker: EmbeddedBroker, topic: str) -> None:
    path = str(Path(broker.data_dir) / f"{topic}-1")
    columns = log_options({"path": path, "columns": "offset"})
    fine, coarse = splits(path, 500), splits(path, 1 << 20)
    assert len(fine) >= len(coarse)
    for found in (fine, coarse):
        batches = [batch for split in found for batch in read_split(columns, split)]
        assert pyarrow.Table.from_batches(batches).column("offset").to_pylist() == list(range(RECORDS // 2))


def test_a_damaged_segment_is_told_or_passed_over(broker: EmbeddedBroker, topic: str, tmp_path: Path) -> None:
    source = Path(broker.data_dir) / f"{topic}-0"
    directory = tmp_path / f"{topic}-0"
    directory.mkdir()
    for file in source.glob("*.log"):
        (directory / file.name).write_bytes(file.read_bytes())
    first = min(directory.glob("*.log"))
    content = bytearray(first.read_bytes())
    batches = list(decode_batches(memoryview(bytes(content)), False))
    hit = batches[len(batches) // 2]
    # The last byte of its records: not each byte of a batch's head is under its checksum.
    content[hit.position + hit.size_bytes - 1] ^= 1
    first.write_bytes(content)
    strict = log_options({"path": str(tmp_path)})
    damaged = [split for split in splits(str(tmp_path), strict.split_bytes) if split.path == str(first)]
    with pytest.raises(DataLoss, match="cannot be read"):
        list(read_split(strict, damaged[0]))
    lenient = log_options({"path": str(tmp_path), "skipCorrupt": "true"})
    rows = sum(b.num_rows for split in splits(str(tmp_path), lenient.split_bytes) for b in read_split(lenient, split))
    assert 0 < rows < RECORDS // 2


def test_a_path_without_segments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="has no segment files"):
        splits(str(tmp_path), 1)
    with pytest.raises(OptionError, match="is not a directory"):
        splits(str(tmp_path / "missing"), 1)


def sink(broker: EmbeddedBroker, topic: str | None, columns: tuple[str, ...]) -> SinkOptions:
    return SinkOptions({"bootstrap.servers": broker.bootstrap_servers}, topic, columns)


def test_rows_go_where_they_say(broker: EmbeddedBroker) -> None:
    first, second = (f"w-{uuid.uuid4().hex[:8]}" for _ in range(2))
    create(broker, first, 3)
    create(broker, second, 3)
    rows = [
        {
            "topic": first if number % 3 else second,
            "key": None if number % 5 else b"k%d" % number,
            "value": None if number == 7 else f"v{number}",
            "partition": number % 3 if number % 2 else None,
            "headers": [{"key": "h", "value": b"%d" % number}] if number % 4 == 0 else None,
        }
        for number in range(120)
    ]
    schema = pyarrow.schema(
        [
            ("topic", pyarrow.string()),
            ("key", pyarrow.binary()),
            ("value", pyarrow.string()),
            ("partition", pyarrow.int32()),
            ("headers", pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())]))),
        ]
    )
    batches = pyarrow.Table.from_pylist(rows, schema).to_batches(max_chunksize=50)
    assert write_rows(sink(broker, None, tuple(schema.names)), iter(batches)) == len(rows)
    found = []
    for topic in (first, second):
        wanted = options(broker, topic, includeHeaders="true")
        view = ClusterView(wanted)
        for partition, end in view.latest(view.partitions()).items():
            found += read(wanted, topic, partition.partition, 0, end).to_pylist()
        view.close()
    assert len(found) == len(rows)
    by_value = {row["value"]: row for row in found}
    for row in rows:
        value = None if row["value"] is None else str(row["value"]).encode()
        got = by_value[value]
        assert (got["topic"], got["key"], got["headers"] or None) == (row["topic"], row["key"], row["headers"])
        assert row["partition"] is None or got["partition"] == row["partition"]


def test_a_row_without_a_topic_is_refused(broker: EmbeddedBroker) -> None:
    schema = pyarrow.schema([("topic", pyarrow.string()), ("value", pyarrow.binary())])
    batch = pyarrow.RecordBatch.from_pylist([{"topic": None, "value": b"x"}], schema)
    with pytest.raises(WriteError, match="topic is null"):
        write_rows(sink(broker, None, ("topic", "value")), iter([batch]))
