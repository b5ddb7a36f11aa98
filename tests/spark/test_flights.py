"""The demo's pipeline, which docs/spark.md goes through, on a part of the flights: what it leaves is what pandas makes
of the same file. And the guide's Python does what the guide says.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import pandas
import pytest
from pyspark.sql import SparkSession

from kcli.demonstration import flights_pipeline
from kcli.demonstration.flights import AIRLINES_FILE, FLIGHTS_FILE, FlightFile
from kcore.client.admin.admin import Admin
from kcore.client.admin.topics import NewTopic
from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.spark.reading import records

# Of 336,776: a month and a half.
FLIGHTS = 40_000
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.needs("java")


class Published(NamedTuple):
    """What topic `flights` of this broker has, its times of 2013; `flights` are files of the same."""

    broker: EmbeddedBroker
    data_dir: Path
    flights: FlightFile


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    folder, data_dir = tmp_path_factory.mktemp("part"), tmp_path_factory.mktemp("data")
    whole = Path(FlightFile().folder)
    (folder / AIRLINES_FILE).write_text((whole / AIRLINES_FILE).read_text())
    with zipfile.ZipFile(whole / FLIGHTS_FILE) as archive:
        (name,) = archive.namelist()
        lines = archive.read(name).splitlines(keepends=True)
    with zipfile.ZipFile(folder / FLIGHTS_FILE, "w") as archive:
        archive.writestr(name, b"".join(lines[: FLIGHTS + 1]))
    flights = FlightFile(str(folder))
    with EmbeddedBroker(data_dir=data_dir) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("flights", 3, 1, {"retention.ms": "-1"})])
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for flight in flights:
                producer.send("flights", flight.line, key=flight.carrier, timestamp=flight.timestamp_ms)
        yield Published(broker, data_dir, flights)


def flights_by_pandas(flights: FlightFile) -> pandas.DataFrame:
    names = pandas.read_csv(Path(flights.folder) / AIRLINES_FILE)
    found = pandas.read_csv(Path(flights.folder) / FLIGHTS_FILE).merge(names, on="carrier")
    found["hour"] = pandas.to_datetime(found["time_hour"], utc=True)
    return found


def test_the_pipeline_of_the_demo(
    spark: SparkSession,
    published: Published,
    checkout: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(flights_pipeline, "spark_session", lambda pipeline, master: nullcontext(spark))
    path = flights_pipeline.lay_out(str(tmp_path / "pipeline"), published.flights)
    flights_pipeline.run(path, published.broker.bootstrap_servers, published.flights)
    said = capsys.readouterr().out
    assert f"Pipeline flights-by-hour: {FLIGHTS:,} flights through Spark" in said
    assert "Equal to the result of pandas" in said

    grouped = flights_by_pandas(published.flights).groupby(["hour", "name"])["dep_delay"]
    expected = grouped.agg(flights="size", departed="count", delay_minutes="sum").sort_index()
    directory = tmp_path / "pipeline" / "out" / "flights-by-hour"
    found = pandas.read_parquet(directory)
    found["hour"] = pandas.to_datetime(found["hour"], utc=True)
    files = found.set_index(["hour", "airline"]).sort_index()
    # The last day is open: more of it may come.
    closed = expected[expected.index.get_level_values("hour") <= files.index.get_level_values("hour").max()]
    assert len(expected) - len(closed) < 600
    assert list(files.index) == list(closed.index)
    for column in ("flights", "departed", "delay_minutes"):
        assert list(files[column].fillna(0)) == list(closed[column])

    hours = {}
    for record in records(published.broker, "flights-by-hour"):
        value = json.loads(record.value or b"")
        hours[pandas.Timestamp(value["hour"]), value["airline"]] = value["flights"]
    assert hours == expected["flights"].to_dict(), "the topic has the open hours too"

    picture = tmp_path / "delays.svg"
    subprocess.run([sys.executable, checkout / "docs" / "spark" / "draw.py", directory, picture], check=True)
    assert picture.read_text().count('fill="#4878a8"') >= 18, "a bar for each hour of the day with flights"


@pytest.mark.full_size
def test_the_python_of_the_guide(
    spark: SparkSession,
    published: Published,
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("kspark.session.open_session", lambda *_: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    names: dict[str, object] = {}
    said = []
    for block in BLOCK.findall((checkout / "docs" / "spark.md").read_text()):
        there = block.replace("localhost:9092", published.broker.bootstrap_servers)
        exec(there.replace("/tmp/flights/data", str(published.data_dir)), names)
        said.append(capsys.readouterr().out)
    look, pushed, files = said
    assert " |-- value: binary (nullable = true)\n |-- topic: string" in look
    assert "only showing top 3 rows" in look
    assert re.search(r"\|\s*[A-Z0-9]{2}\|2013,1,1,", look), "a carrier, and a line of the file"
    later = flights_by_pandas(published.flights)["hour"] >= pandas.Timestamp("2013-02-01", tz="UTC")
    assert 0 < later.sum() < FLIGHTS
    assert pushed == f"{later.sum()}\n"
    assert re.search(rf"\|flights\|\s*none\|{FLIGHTS}\|", files), files
