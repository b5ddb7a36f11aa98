"""A pipeline's file: what it comes to, and what is refused, each by its place. And what a query's progress comes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore.client.metadata.cluster import TopicPartition
from kspark.pipeline.definition import Watermark, at_brokers, declared, read_pipeline
from kspark.pipeline.findings import Findings, PipelineError
from kspark.pipeline.part_options import check_options
from kspark.pipeline.progress import sink_progress

WHOLE = """
name = "flights"
checkpoint = "kept"
[spark]
"spark.sql.shuffle.partitions" = 4
"spark.sql.ansi.enabled" = true
[sources.flights]
format = "kcli"
stream = true
options = { subscribe = "flights", maxOffsetsPerTrigger = 1000 }
value = { format = "json", schema = "carrier string" }
watermark = { column = "timestamp", delay = "10 minutes" }
[sources.airlines]
format = "csv"
path = "airlines.csv"
schema = "carrier string, name string"
[steps.named]
sql = "select * from flights join airlines using (carrier)"
[steps.counted]
python = "steps.counting:count"
from = ["named", "airlines"]
[sinks.out]
from = "counted"
format = "parquet"
trigger = "10 seconds"
path = "s3a://bucket/out"
partition-by = "carrier"
"""
SHORT = """
[sources.a]
format = "rate"
{source}
[steps.b]
{step}
[sinks.c]
from = "b"
format = "console"
{sink}
"""
MANY_MISTAKES = """
[sources.a]
format = "rate"
stream = "yes"
optoins = {}
[steps.first]
python = "m:f"
from = "second"
[steps.second]
sql = "select * from a"
[steps.itself]
python = "m:f"
from = "itself"
[sinks.c]
from = "secnd"
format = "console"
mode = "compleet"
"""
WRONG_OPTIONS = """
[sources.a]
format = "kcli"
stream = true
[sources.a.options]
"kafka.bootstrap.server" = "h:1"
subscribe = "a"
startingOffset = "earliest"
maxOffsetsPerTrigger = "many"
GroupIdPrefix = "mine"
Columns = "value"
[sources.b]
format = "kcli-log"
stream = true
path = "logs"
options = { checkCRC = true, skipCorrupt = "perhaps" }
[sources.other]
format = "csv"
options = { haeder = true }
[sinks.c]
from = "a"
format = "kcli"
options = { "kafka.bootstrap.servers" = "h:1", topc = "t", "kafka.xyz" = 1 }
[sinks.d]
from = "b"
format = "parquet"
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "flights-by-hour.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_whole_pipeline(tmp_path: Path) -> None:
    pipeline = read_pipeline(written(tmp_path, WHOLE))
    assert (pipeline.name, pipeline.master, pipeline.checkpoint) == ("flights", None, str(tmp_path / "kept"))
    assert pipeline.spark == {"spark.sql.shuffle.partitions": "4", "spark.sql.ansi.enabled": "true"}
    flights, airlines = pipeline.sources
    assert flights.is_stream
    assert flights.options == {"subscribe": "flights", "maxOffsetsPerTrigger": "1000"}
    assert flights.watermark == Watermark("timestamp", "10 minutes")
    assert airlines.path == str(tmp_path / "airlines.csv"), "beside the file"
    counted = pipeline.steps[1]
    assert (counted.module, counted.function, counted.inputs) == ("steps.counting", "count", ("named", "airlines"))
    (out,) = pipeline.sinks
    assert (out.mode, out.path, out.partition_by) == ("append", "s3a://bucket/out", ("carrier",))


def test_what_is_not_said_is_named_after_the_file(tmp_path: Path) -> None:
    pipeline = read_pipeline(written(tmp_path, SHORT.format(source="", step='sql = "select * from a"', sink="")))
    assert pipeline.name == "flights-by-hour"
    assert pipeline.checkpoint == str(tmp_path / "flights-by-hour-checkpoint")


@pytest.mark.parametrize(
    ("part", "text", "says"),
    [
        ("source", "steam = true", "sources.a.steam: unknown key; did you mean 'stream'"),
        ("source", 'stream = "yes"', "sources.a.stream: must be true or false"),
        ("source", "options = { a = [1] }", "sources.a.options.a: must be text"),
        ("source", 'value = { format = "xml", schema = "a" }', "must be one of json, avro, protobuf"),
        ("source", 'value = { format = "json" }', "sources.a.value.schema: is missing"),
        ("source", 'value = { format = "json", schema = "a", message = "m" }', "is for protobuf only"),
        ("source", 'watermark = { column = "t" }', "sources.a.watermark.delay: is missing"),
        ("step", "", "steps.b: must have either sql or python"),
        ("step", 'sql = "x"\npython = "m:f"', "steps.b: must have either sql or python"),
        ("step", 'python = "m.f"\nfrom = "a"', 'must be "module:function"'),
        ("step", 'python = "m:f"', "steps.b.from: is missing"),
        ("step", 'python = "m:f"\nfrom = "c"', "steps.b.from: unknown source or step c; defined: a"),
        ("sink", 'mode = "overwrite"', "sinks.c.mode: must be one of append, complete, update"),
        ("sink", 'trigger = "often"', 'a time such as "10 seconds"'),
        ("sink", "partition-by = 5", "must be a name, or a list of names"),
    ],
)
def test_what_cannot_be_is_refused_by_its_place(tmp_path: Path, part: str, text: str, says: str) -> None:
    parts = {"source": "", "step": 'sql = "select 1"', "sink": ""} | {part: text}
    with pytest.raises(PipelineError, match=says.replace(".", r"\.")):
        read_pipeline(written(tmp_path, SHORT.format(**parts)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = [", "is not TOML"),
        ('[sources.a]\nformat = "rate"', "has no sinks"),
        ('[sources."a-b"]\nformat = "rate"', "only letters, digits and _"),
        ('[sources.a]\nformat = "rate"\n[steps.a]\nsql = "x"', "another source or step has the name a"),
        ('[sources.a]\nformat = "rate"\n[sinks]\nc = 1', "^sinks.c: must be a table, not 1$"),
        ("sources = 5", "^sources: must be a table, not 5\n"),
        ('[sourses.a]\nformat = "rate"', "sourses: unknown key; did you mean 'sources'"),
    ],
)
def test_a_file_that_is_no_pipeline_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PipelineError, match=says):
        read_pipeline(written(tmp_path, text))


def test_all_mistakes_of_a_file_are_reported_and_none_twice(tmp_path: Path) -> None:
    findings = Findings()
    declared(written(tmp_path, MANY_MISTAKES), findings)
    assert findings.mistakes == [
        "sources.a.stream: must be true or false, not 'yes'",
        "sources.a.optoins: unknown key; did you mean 'options'?",
        "steps.first.from: second does not come before it; a step sees only the sources and the steps before it: a",
        "steps.itself.from: itself does not come before it; a step sees only the sources and the steps before it: a, "
        "first, second",
        "sinks.c.mode: must be one of append, complete, update, not 'compleet'; did you mean 'complete'?",
        "sinks.c.from: unknown source or step secnd; did you mean 'second'?",
    ]
    assert findings.has_mistake_in("sources.a")
    assert not findings.has_mistake_in("steps.second")


def test_options_are_checked_without_spark(tmp_path: Path) -> None:
    findings = Findings()
    meant = check_options(declared(written(tmp_path, WRONG_OPTIONS), findings), findings)
    assert findings.mistakes == [
        "sources.a.options.kafka.bootstrap.server: unknown option; did you mean 'kafka.bootstrap.servers'?",
        "sources.a.options.startingOffset: unknown option; did you mean 'startingOffsets'?",
        "sources.a.options: maxOffsetsPerTrigger must be a whole number, not 'many'",
        "sources.b.options.checkCRC: unknown option; did you mean 'checkCrcs'?",
        "sources.b.options: skipCorrupt must be true or false, not 'perhaps'",
        "sources.b.stream: format kcli-log is read once: remove stream",
        "sinks.c.options.topc: unknown option; did you mean 'topic'?",
        "sinks.d.path: is missing: name the directory for the parquet files",
    ]
    assert findings.warnings == ["sinks.c.options.kafka.xyz: unknown setting of the client; it is ignored"]
    assert not findings.has_mistake_in("sources.a", besides="options"), "its columns are known"
    assert meant.sources[0].options["startingOffsets"] == "earliest", "for the checks that follow"


def test_progress_tells_rates_and_lag() -> None:
    progress = sink_progress(
        {
            "batchId": 3,
            "numInputRows": 200,
            "processedRowsPerSecond": 400.0,
            "batchDuration": 500,
            "sources": [
                {"endOffset": '{"t": {"0": 10, "1": 5}}', "latestOffset": '{"t": {"0": 30, "1": 5}}'},
                {"endOffset": 7, "latestOffset": None},
            ],
            "sink": {"numOutputRows": 50},
            "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"},
        }
    )
    assert (progress.batch_id, progress.rows_in, progress.rows_in_per_second) == (3, 200, 400.0)
    assert (progress.rows_out, progress.rows_out_per_second, progress.batch_ms) == (50, 100.0, 500)
    assert progress.lag == {TopicPartition("t", 0): 20, TopicPartition("t", 1): 0}
    unknown = sink_progress({"batchId": 0, "sink": {"numOutputRows": -1}})
    assert (unknown.rows_out, unknown.lag, unknown.watermark) == (None, {}, None)


def test_topics_of_another_cluster(tmp_path: Path) -> None:
    text = WHOLE.replace('subscribe = "flights"', '"Kafka.Bootstrap.Servers" = "file:1", subscribe = "flights"')
    there = at_brokers(read_pipeline(written(tmp_path, text)), "other:2")
    assert there.sources[0].options == {
        "subscribe": "flights",
        "maxOffsetsPerTrigger": "1000",
        "kafka.bootstrap.servers": "other:2",
    }
    assert there.sources[1].options == {}, "a file is where it is"
    assert there.sinks[0].options == {}
    with_properties = at_brokers(there, "third:3", {"client.id": "me"}).sources[0].options
    assert with_properties["kafka.bootstrap.servers"] == "third:3"
    assert with_properties["kafka.client.id"] == "me"
