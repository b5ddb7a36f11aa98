"""`kcli pipeline`: checks, explains and runs a pipeline on Spark, declared in a TOML file."""

from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager

import click

from kcli.command import Group
from kcli.failures import INTERRUPTED, OK, Failure
from kcli.live_view import live_output_option, show
from kcli.options import other_cluster, other_cluster_options
from kcli.output import JSON_LINES
from kcli.pipelines.session import built, declared, require_clusters, spark_session
from kcli.pipelines.views import screen, views
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from kcli.pipelines.session import Declared
    from kspark.pipeline.run import Run

    Command = TypeVar("Command", bound=Callable[..., Any])


def file_argument(command: Command) -> Command:
    return click.argument("file", type=click.Path(exists=True, dir_okay=False))(command)


master_option = click.option("--master", metavar="URL", help="Spark master URL. Default: the one in the file.")
cluster_options = other_cluster_options("Bootstrap servers of all topics. Default: those in the file.")


@click.group(
    "pipeline",
    cls=Group,
    examples="""
    # Check a pipeline, then run it
    kcli pipeline check flights.toml && kcli pipeline run flights.toml
    """,
)
def command() -> None:
    """Run pipelines of sources, steps and sinks on Spark. A TOML file declares each pipeline."""


@command.command(
    "check",
    examples="""
    # Check a pipeline
    kcli pipeline check flights.toml
    # Check it with the topics of another cluster
    kcli pipeline check flights.toml --bootstrap-server kafka:9092
    """,
)
@file_argument
@master_option
@cluster_options
def check(file: str, master: str | None, bootstrap_server: str | None) -> None:
    """Check whether a pipeline can run, and report all mistakes.

    Checks the file, options, topics in the cluster, SQL and Python steps, columns and types. No record is read. Exit
    codes: 0 no mistakes, 2 mistakes, 3 the cluster cannot be reached.
    """
    found = _declared(file, bootstrap_server, master)
    pipeline = found.pipeline
    with spark_session(found, master) as session:
        built(session, found)
    parts = ((pipeline.sources, "source"), (pipeline.steps, "step"), (pipeline.sinks, "sink"))
    counted = ", ".join(f"{len(found)} {name}{'' if len(found) == 1 else 's'}" for found, name in parts)
    click.echo(f"{pipeline.name} can run: {counted}")


@command.command(
    "plan",
    examples="""
    # Print the execution plan of a pipeline
    kcli pipeline plan flights.toml
    # Print it for a given Spark master
    kcli pipeline plan flights.toml --master local[2]
    """,
)
@file_argument
@master_option
@cluster_options
def plan(file: str, master: str | None, bootstrap_server: str | None) -> None:
    """Print Spark's plan and the columns of each sink.

    The pipeline is checked first, as by `kcli pipeline check`.
    """
    found = _declared(file, bootstrap_server, master)
    require_clusters(found)
    with spark_session(found, master) as session:
        frames = built(session, found)
        for sink in found.pipeline.sinks:
            frame = frames.of_sink(sink)
            click.echo(f"== {sink.name}: {sink.input} to {sink.format}, {sink.mode}")
            for field in frame.schema.fields:
                click.echo(f"   {field.name}: {field.dataType.simpleString()}")
            # Spark explains only streams with an analysed plan, which that of an SQL text is not.
            frame.select("*").explain(mode="formatted")


@command.command(
    "run",
    examples="""
    # Run a pipeline
    kcli pipeline run flights.toml
    # Run it against another cluster and serve metrics for Prometheus
    kcli pipeline run flights.toml --bootstrap-server kafka:9092 --metrics-port 9405
    """,
)
@file_argument
@master_option
@cluster_options
@live_output_option
@click.option(
    "--metrics-port",
    type=IntegerRange(0, 65535),
    metavar="PORT",
    help="Serve Prometheus metrics at http://HOST:PORT/metrics; 0 chooses a free port. Default: no metrics.",
)
@click.option("--metrics-host", default="127.0.0.1", show_default=True, metavar="HOST", help="Address for metrics.")
def run(
    file: str,
    master: str | None,
    bootstrap_server: str | None,
    output: str,
    metrics_port: int | None,
    metrics_host: str,
) -> int:
    """Run a pipeline until its streams end, or until Ctrl-C or SIGTERM.

    The pipeline is checked first, as by `kcli pipeline check`. Console sinks print their rows to stdout, above the live
    view of a terminal. With -o jsonl, stdout contains JSON only, and rows go to stderr.

    The first Ctrl-C finishes the current batches. A second one does not wait for them. The next run continues from the
    checkpoint.
    """
    from kspark.pipeline.findings import PipelineError

    found = _declared(file, bootstrap_server, master)
    require_clusters(found)
    pipeline = found.pipeline
    with ExitStack() as stack:
        totals = None
        if metrics_port is not None:
            from kcli.pipelines.metrics_server import served
            from kspark.pipeline.metrics import Totals

            totals = Totals(pipeline.name)
            stack.enter_context(served(totals, metrics_host, metrics_port))
        session = stack.enter_context(spark_session(found, master, prints_to_stderr=output == JSON_LINES))
        from kspark.pipeline.run import Run

        running = Run(pipeline, built(session, found), totals)
        try:
            with _ending(running) as interrupted:
                running.start()
                show(views(running), screen, output, f"{pipeline.name}: waiting for the first batch", below_output=True)
                if interrupted:
                    click.echo(f"{pipeline.name}: finishing its batches. Press Ctrl-C again to abort them", err=True)
                is_whole = running.stop()
        except PipelineError as error:
            raise Failure(f"{file}: {error}") from None
    if not interrupted:
        return OK
    how = "all batches are finished" if is_whole else "a batch was aborted; the next run repeats it"
    click.echo(f"{pipeline.name}: stopped; {how}", err=True)
    return INTERRUPTED


def _declared(file: str, bootstrap_server: str | None, master: str | None) -> Declared:
    servers, properties = other_cluster(bootstrap_server)
    return declared(file, servers, properties, master)


@contextmanager
def _ending(running: Run) -> Iterator[list[int]]:
    """Ends the run at the first signal, which is added to the list. No exception interrupts a call to Spark."""
    signals: list[int] = []

    def end(number: int, _: object) -> None:
        if signals:
            raise KeyboardInterrupt
        signals.append(number)
        running.end_soon()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
