"""`kcli pipeline`: what a file declares is run, ended and gone on with; what is wrong with it is said by its part."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from urllib.request import urlopen

import pyarrow.dataset
import pytest
from click.testing import CliRunner, Result
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from kcli.commands import pipeline
from kcli.failures import INTERRUPTED, UsageFailure
from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from kspark.pipeline.definition import read_pipeline
from kspark.pipeline.frames import Frames
from kspark.pipeline.metrics import Totals
from kspark.pipeline.run import Run
from tests.leftovers import Leftovers
from tests.spark.reading import records
from tests.spark.session import modest_settings, own_name

RECORDS, BATCH = 300, 100
TIMEOUT_S = 240.0
# Waits in the first batch until the test says go.
STEP = """
import pathlib

HERE = pathlib.Path(__file__).parent

def hold(frame):
    def held(batches):
        import os, time
        (HERE / "began").touch()
        while not os.path.exists(HERE / "go"):
            time.sleep(0.01)
        yield from batches
    return frame.mapInArrow(held, frame.schema)
"""
FILE = """
name = "numbers"
checkpoint = "checkpoint"
master = "local[2]"

[spark]
{settings}

[sources.numbers]
format = "kcli"
stream = true
options = {{ "kafka.bootstrap.servers" = "{server}", subscribe = "{topic}", startingOffsets = "earliest", \
maxOffsetsPerTrigger = {batch} }}
value = {{ format = "json", schema = "number int, name string", keep = ["key"] }}

[steps.even]
sql = "select string(key) as key, number, name from numbers where number % 2 = 0"

[steps.held]
python = "holding:hold"
from = "even"

[steps.text]
sql = "select key, to_json(struct(number, name)) as value from held"

[sinks.topic]
from = "text"
format = "kcli"
trigger = "available-now"
options = {{ "kafka.bootstrap.servers" = "{server}", topic = "{target}" }}

[sinks.files]
from = "even"
format = "parquet"
trigger = "available-now"
path = "files"
"""
JSON = 'format = "json", schema = "number int, name string"'

pytestmark = pytest.mark.needs("java")


class Numbers:
    """A pipeline from a topic with numbers to another one, and to files."""

    def __init__(self, broker: EmbeddedBroker, directory: Path) -> None:
        self.leftovers = Leftovers(directory)
        self.topic, self.target = own_name("numbers"), own_name("even")
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for number in range(RECORDS):
                value = json.dumps({"number": number, "name": f"n{number}"})
                producer.send(self.topic, value.encode(), key=b"%d" % number)
        settings = modest_settings(self.leftovers.temporary)
        self.text = FILE.format(
            settings="\n".join(f'"{name}" = "{value}"' for name, value in settings.items()),
            server=broker.bootstrap_servers,
            topic=self.topic,
            target=self.target,
            batch=BATCH,
        )
        (directory / "holding.py").write_text(STEP)
        self.path = directory / "numbers.toml"
        self.path.write_text(self.text)

    def start(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "kcli", "pipeline", "run", str(self.path), "-o", "jsonl", *options]
        return subprocess.Popen(
            command,
            env=self.leftovers.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def expected(self, count: int) -> list[tuple[bytes, dict[str, object]]]:
        """What the target has of the first `count` numbers."""
        return [(b"%d" % number, {"number": number, "name": f"n{number}"}) for number in range(0, count, 2)]


@pytest.fixture
def numbers(broker: EmbeddedBroker, tmp_path: Path) -> Numbers:
    return Numbers(broker, tmp_path)


@pytest.mark.timeout(900)  # Two JVMs come and go, on whatever machine.
def test_a_pipeline_ends_after_its_batch_and_goes_on(broker: EmbeddedBroker, numbers: Numbers) -> None:
    directory = numbers.path.parent
    running = numbers.start("--metrics-port", "0")
    try:
        while not (directory / "began").exists():
            assert running.poll() is None, running.communicate()
            with suppress(subprocess.TimeoutExpired):
                running.wait(0.1)
        assert running.stderr is not None
        said = running.stderr.readline()
        assert said.startswith("metrics are at http://127.0.0.1:")
        with urlopen(said.split()[-1]) as answer:
            assert answer.status == 200
        # As a terminal does it: the whole group has the signal, Spark's processes too.
        os.killpg(running.pid, signal.SIGINT)
        while "finishing its batches" not in (line := running.stderr.readline()):
            assert line, "it ended before its batch was"
        (directory / "go").touch()
        output, errors = running.communicate(timeout=TIMEOUT_S)
    finally:
        running.kill()
    assert running.returncode == INTERRUPTED, errors
    assert "numbers: stopped; every batch was finished" in errors
    assert found(broker, numbers.target) == numbers.expected(BATCH), "the batch that was at work, and no other"
    assert list((directory / "checkpoint" / "topic" / "commits").glob("[0-9]*")) == [
        directory / "checkpoint" / "topic" / "commits" / "0"
    ]
    numbers.leftovers.await_ends()

    running = numbers.start()
    try:
        output, errors = running.communicate(timeout=TIMEOUT_S)
    finally:
        running.kill()
    assert running.returncode == 0, errors
    # On a busy machine Spark may say that a worker was late.
    assert not re.search("log4j|log level|WARN", errors), "nothing of what a JVM says when it starts"
    assert found(broker, numbers.target) == numbers.expected(RECORDS), "none is missing, none came twice"
    files = pyarrow.dataset.dataset(directory / "files", format="parquet", exclude_invalid_files=True).to_table()
    assert sorted(files.column("number").to_pylist()) == list(range(0, RECORDS, 2))
    views = [json.loads(line) for line in output.splitlines()]
    (last,) = [sink for sink in views[-1]["sinks"] if sink["sink"] == "topic"]
    assert last["batch"] == RECORDS // BATCH - 1
    assert last["lag"] == {f"{numbers.topic}-0": 0}
    numbers.leftovers.await_ends()


def found(broker: EmbeddedBroker, topic: str) -> list[tuple[bytes, dict[str, object]]]:
    return [(record.key or b"", json.loads(record.value or b"null")) for record in records(broker, topic)]


@pytest.fixture
def in_this_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands run in the tests' session, instead of one of their own."""
    monkeypatch.setattr(pipeline, "spark_session", lambda declared, master: nullcontext(spark))
    before = list(sys.path)
    yield
    sys.path[:] = before
    sys.modules.pop("holding", None)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(pipeline.command, arguments)


def test_metrics_are_of_all_batches(spark: SparkSession, numbers: Numbers) -> None:
    numbers.path.write_text(numbers.text.replace('"holding:hold"', '"passing:on"'))
    (numbers.path.parent / "passing.py").write_text("def on(frame):\n    return frame\n")
    declared = read_pipeline(str(numbers.path))
    frames, totals = Frames(spark, declared), Totals(declared.name)
    frames.build()
    run = Run(declared, frames, totals)
    run.start()
    for _ in run.watch():
        pass
    assert run.stop()
    values = {
        (sample.labels["sink"], sample.name.removeprefix("kcli_pipeline_")): sample.value
        for family in text_string_to_metric_families(totals.render().decode())
        for sample in family.samples
        if sample.labels["pipeline"] == "numbers"
    }
    for sink in ("topic", "files"):
        assert values[sink, "active"] == 0
        assert values[sink, "batches_total"] == RECORDS // BATCH
        assert values[sink, "rows_in_total"] == RECORDS
        assert values[sink, "rows_out_total"] == RECORDS / 2
        assert values[sink, "batch_milliseconds_total"] >= values[sink, "batch_milliseconds"] > 0
        assert values[sink, "lag_offsets"] == 0


@pytest.mark.usefixtures("in_this_session")
def test_check_and_plan_read_nothing(numbers: Numbers) -> None:
    result = invoke("check", str(numbers.path))
    assert (result.exit_code, result.output) == (0, "numbers: 1 source, 3 steps, 2 sinks: all can be run\n")
    result = invoke("plan", str(numbers.path))
    assert result.exit_code == 0, result.exception
    assert "== topic: text to kcli, append\n   key: string\n   value: string\n== Physical Plan ==" in result.output
    assert "== files: even to parquet, append\n   key: string\n   number: int\n   name: string\n" in result.output
    assert not (numbers.path.parent / "checkpoint").exists()


@pytest.mark.usefixtures("in_this_session")
@pytest.mark.parametrize(
    ("text", "instead", "says"),
    [
        ("select string(key)", "select string(kee)", r"steps.even: .*`kee` cannot be resolved.*`key`"),
        ("select string(key)", "selekt string(key)", r"steps.even: .*PARSE_SYNTAX_ERROR"),
        ('python = "holding:hold"', 'python = "holding:held"', "steps.held: module holding has no function held"),
        ('python = "holding:hold"', 'python = "helding:hold"', "steps.held: No module named 'helding'"),
        ("number int, name string", "number nit, name string", "sources.numbers: .*"),
        ('subscribe = "', 'subscribes = "', "sources.numbers: one of assign, subscribe, subscribePattern"),
        ("as value from held", "as valu from held", "sinks.topic: the rows must have a column value, and have key"),
        ('path = "files"', 'path = "files"\npartition-by = "day"', "sinks.files: partition-by: no column day"),
        ('path = "files"', 'path = "files"\nmode = "complete"', "sinks.files: .*output mode: complete"),
        (JSON, 'format = "avro", schema = "no.avsc"', "sources.numbers: .*No such file.*no.avsc"),
        (
            JSON,
            'format = "protobuf", schema = "numbers.desc", message = "Number"',
            "sources.numbers: value.format protobuf needs a jar .*spark-protobuf_2.13",
        ),
    ],
)
def test_what_is_wrong_is_said_by_its_part(numbers: Numbers, text: str, instead: str, says: str) -> None:
    assert text in numbers.text
    numbers.path.write_text(numbers.text.replace(text, instead))
    (numbers.path.parent / "numbers.desc").touch()
    result = invoke("check", str(numbers.path))
    assert isinstance(result.exception, UsageFailure)
    line = str(result.exception)
    assert re.search(says, line), line
    assert "\n" not in line


def test_a_machine_without_pyspark_is_told_so(numbers: Numbers) -> None:
    program = f"""
import sys
sys.modules["pyspark"] = None
sys.argv = ["kcli", "pipeline", "check", {str(numbers.path)!r}]
from kcli.__main__ import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kcli: pipelines need PySpark")
    assert "pip install 'kcore-broker[spark]'" in done.stderr
