"""The demo's pipeline on Spark: joins flights with airlines, sums them up by hour, writes to a topic and to Parquet.

`flights.toml` is a file for `kcli pipeline run`. The demo stores it beside its broker's files, with the airlines, so
that users can run it again.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import contextmanager

from kcli.demonstration.flights import AIRLINES_FILE, FlightFile
from kcli.demonstration.hours import (
    by_hour_of_day,
    closed,
    hours_by_pandas,
    hours_of_files,
    hours_of_topic,
    require_equal,
)
from kcli.demonstration.tour import say
from kcli.failures import Failure
from kcli.pipelines.session import built, declared, spark_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcli.demonstration.hours import Hours
    from kspark.pipeline.run import Run

PIPELINE_FILE = "flights.toml"
HOURS_TOPIC = "flights-by-hour"
# The name of the Parquet sink in the file.
FILES_SINK = "files"
MINUTES_A_MARK = 1.0


def lay_out(directory: str, flights: FlightFile) -> str:
    """Writes the pipeline's file and the airlines, and returns the path of the file."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, PIPELINE_FILE)
    shutil.copyfile(os.path.join(os.path.dirname(os.path.abspath(__file__)), PIPELINE_FILE), path)
    shutil.copyfile(os.path.join(flights.folder, AIRLINES_FILE), os.path.join(directory, AIRLINES_FILE))
    return path


def run(path: str, bootstrap_server: str, flights: FlightFile) -> None:
    """Runs the pipeline. Raises Failure if the result differs from that of pandas."""
    from kspark.pipeline.findings import PipelineError

    _create_topic(bootstrap_server)
    found = declared(path, bootstrap_server)
    pipeline = found.pipeline
    began_s = time.perf_counter()
    with _waiting("the pipeline runs on Spark"), spark_session(found, None) as session:
        from kspark.pipeline.run import Run

        running = Run(pipeline, built(session, found))
        try:
            _run_to_the_end(running)
        except PipelineError as error:
            raise Failure(str(error)) from None
        version = session.version
    elapsed_s = time.perf_counter() - began_s
    say(f"Pipeline {pipeline.name}: {len(flights):,} flights through Spark {version}, {elapsed_s:.1f} s with start-up.")
    (files,) = (sink.path for sink in pipeline.sinks if sink.name == FILES_SINK)
    assert files is not None
    _show(_checked(bootstrap_server, files, flights))


def _run_to_the_end(running: Run) -> None:
    running.start()
    for _ in running.watch():
        pass
    running.stop()


def _create_topic(bootstrap_server: str) -> None:
    from kcli.options import connect
    from kcore.client.admin.results import raise_first
    from kcore.client.admin.topics import NewTopic, TopicAdmin

    with connect(bootstrap_server) as client:
        raise_first(TopicAdmin(client).create_topics([NewTopic(HOURS_TOPIC, 1, 1)]))


def _checked(bootstrap_server: str, files: str, flights: FlightFile) -> Hours:
    expected = hours_by_pandas(flights.folder)
    in_topic, in_files = hours_of_topic(bootstrap_server, HOURS_TOPIC), hours_of_files(files)
    require_equal(in_topic, expected, f"topic {HOURS_TOPIC}")
    require_equal(in_files, closed(expected), files)
    say(f"Equal to the result of pandas: {len(in_topic):,} hours of airlines in topic {HOURS_TOPIC},")
    say(f"and {len(in_files):,} in Parquet, up to the watermark, in {files}.")
    return in_topic


def _show(hours: Hours) -> None:
    """Delays by hour of the day, as bars."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Departures by scheduled hour")
    table.add_column("hour", justify="right")
    table.add_column("flights", justify="right")
    table.add_column("mean departure delay")
    for hour, delays in by_hour_of_day(hours).items():
        mean = delays.minutes / max(1, delays.departed)
        bar = "■" * round(max(mean, 0) / MINUTES_A_MARK)
        table.add_row(f"{hour}:00", f"{delays.flights:,}", f"{mean:+5.1f} min {bar}".rstrip())
    Console(file=sys.stdout).print(table)


@contextmanager
def _waiting(label: str) -> Iterator[None]:
    """A spinner on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(label):
        yield
