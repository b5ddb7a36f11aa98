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
from kcli.failures import INTERRUPTED, UnreachableFailure, UsageFailure
from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from kspark.pipeline.definition import read_pipeline
from kspark.pipeline.findings import Findings
from kspark.pipeline.frames import Frames
from kspark.pipeline.metrics import Totals
from kspark.pipeline.run import Run
from tests.leftovers import Leftovers
from tests.spark.reading import records
from tests.spark.session import modest_settings, own_name

RECORDS, BATCH = 300, 100
TIMEOUT_S = 400.0
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
        assert said.startswith("metrics at http://127.0.0.1:")
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
    assert "numbers: stopped; all batches are finished" in errors
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
    monkeypatch.setattr(pipeline, "spark_session", lambda found, master: nullcontext(spark))
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
    findings = Findings()
    frames.build(findings)
    findings.raise_mistakes()
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
    assert (result.exit_code, result.stdout) == (0, "numbers can run: 1 source, 3 steps, 2 sinks\n")
    assert f"sinks.topic.options.topic: topic {numbers.target} does not exist" in result.stderr, "a warning"
    result = invoke("plan", str(numbers.path))
    assert result.exit_code == 0, result.exception
    assert "== topic: text to kcli, append\n   key: string\n   value: string\n== Physical Plan ==" in result.output
    assert "== files: even to parquet, append\n   key: string\n   number: int\n   name: string\n" in result.output
    assert not (numbers.path.parent / "checkpoint").exists()


@pytest.mark.usefixtures("in_this_session")
@pytest.mark.parametrize(
    ("text", "instead", "says"),
    [
        (
            "select string(key)",
            "select string(kee)",
            r"steps.even.sql: unknown column kee; did you mean 'key'\? Columns: .* \(line 1, column 15\)$",
        ),
        (
            "select string(key)",
            "selekt string(key)",
            r"steps.even.sql: Syntax error at or near 'selekt' \(line 1, column 1\)$",
        ),
        ('python = "holding:hold"', 'python = "holding:held"', "steps.held: module holding has no function held"),
        ('python = "holding:hold"', 'python = "helding:hold"', "steps.held: No module named 'helding'"),
        ("number int, name string", "number nit, name string", "sources.numbers: .*"),
        (
            'subscribe = "',
            'subscribes = "',
            "sources.numbers.options.subscribes: unknown option; did you mean 'subscribe'",
        ),
        (
            "as value from held",
            "as valu from held",
            "sinks.topic: the rows must have a column value",
        ),
        ('path = "files"', 'path = "files"\npartition-by = "day"', "sinks.files.partition-by: no column day"),
        ('path = "files"', 'path = "files"\nmode = "complete"', "sinks.files.mode: must be append, not complete"),
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


@pytest.mark.usefixtures("in_this_session")
def test_one_mistake_is_one_line(broker: EmbeddedBroker, numbers: Numbers) -> None:
    """A part is not blamed for its input, and one part's mistake does not hide another's."""
    (numbers.path.parent / "failing.py").write_text("def on(frame):\n    return frame.select('nmber')\n")
    text = numbers.text.replace("select string(key) as key, number", "select string(key) as key, nmber")
    text += """
[steps.early]
sql = "select number from behind"
[steps.of_early]
sql = "select nothing from early join numbers"
[steps.behind]
sql = "select number from numbers"
[steps.typed]
sql = \"\"\"select number
from numbrs\"\"\"
[steps.called]
sql = "select cout(number) from numbers"
[steps.failing]
python = "failing:on"
from = "behind"
[steps.counted]
sql = "select number, count(*) as count from numbers group by number"
[sinks.shown]
from = "counted"
format = "consol"
"""
    numbers.path.write_text(text)
    result = invoke("check", str(numbers.path))
    assert isinstance(result.exception, UsageFailure)
    lines = [line.removeprefix(f"{numbers.path}: ") for line in str(result.exception).splitlines()]
    assert "steps.even.sql: unknown column nmber; did you mean 'number'?" in lines.pop(0)
    assert lines[0] == (
        "steps.early.sql: behind does not come before it; a step sees only the sources and the steps before it: "
        "numbers, even, held, text"
    )
    assert lines[1] == "steps.typed.sql: unknown source or step numbrs; did you mean 'numbers'? (line 2, column 6)"
    assert lines[2] == "steps.called.sql: unknown function cout (line 1, column 8)"
    assert lines[3].startswith("steps.failing: failing:on failed: unknown column nmber; did you mean 'number'?")
    assert lines[3].endswith("/failing.py, line 2)")
    assert lines[4] == "sinks.shown.format: unknown format consol; did you mean 'console'?"
    assert lines[5].startswith("sinks.shown.mode: Invalid streaming output mode: append.")
    assert len(lines) == 6


@pytest.mark.usefixtures("in_this_session")
def test_a_cluster_that_does_not_answer_has_an_exit_code_of_its_own(numbers: Numbers) -> None:
    nobody = "localhost:1"
    result = invoke("check", str(numbers.path), "--bootstrap-server", nobody)
    assert isinstance(result.exception, UnreachableFailure)
    assert result.exception.exit_code == 3
    line = str(result.exception)
    assert line.startswith(f"{numbers.path}: sources.numbers: cannot connect to {nobody} (")
    assert line.endswith("Is the broker running? Start one with: kcli server-start")
    assert "\n" not in line, "the cluster is asked once"
    numbers.path.write_text(numbers.text.replace("select string(key)", "select string(kee)"))
    result = invoke("check", str(numbers.path), "--bootstrap-server", nobody)
    assert isinstance(result.exception, UsageFailure), "a mistake in the file comes first"
    assert "unknown column kee" in str(result.exception)
    assert "cannot connect" in str(result.exception)


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_cluster_that_does_not_answer_is_reported_before_spark_starts(
    numbers: Numbers, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.delattr(pipeline, "spark_session")
    result = invoke(command, str(numbers.path), "--bootstrap-server", "localhost:1")
    assert isinstance(result.exception, UnreachableFailure)
    assert "cannot connect to localhost:1" in str(result.exception)


@pytest.mark.parametrize("command", ["check", "plan", "run"])
@pytest.mark.parametrize("master", ["foo", "local[0]", "local[x]", "spark://", "http://host:7077"])
def test_a_master_that_spark_does_not_know(numbers: Numbers, command: str, master: str) -> None:
    accepted = "Use local, local[N], local[*], spark://HOST:PORT, yarn or k8s://URL"
    result = invoke(command, str(numbers.path), "--master", master)
    assert isinstance(result.exception, UsageFailure)
    assert str(result.exception) == f"--master: {master!r} is not a Spark master. {accepted}"
    numbers.path.write_text(numbers.text.replace('master = "local[2]"', f'master = "{master}"'))
    result = invoke(command, str(numbers.path))
    assert isinstance(result.exception, UsageFailure)
    assert f"{numbers.path}: master: {master!r} is not a Spark master. {accepted}" in str(result.exception)


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
    assert done.stderr.startswith("kcli pipeline check: pipelines need PySpark")
    assert "pip install 'kcore-broker[spark]'" in done.stderr
