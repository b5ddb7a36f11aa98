"""`kcli pipeline`: runs a pipeline that a TOML file declares, on Spark; or says what it would do."""

from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager

import click

from kcli.failures import INTERRUPTED, OK, Failure
from kcli.live_view import live_output_option, show
from kcli.options import other_cluster, other_cluster_options
from kcli.output import JSON_LINES
from kcli.pipelines.session import built, declared, spark_session
from kcli.pipelines.views import screen, views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from kcli.pipelines.session import Declared
    from kspark.pipeline.run import Run

    Command = TypeVar("Command", bound=Callable[..., Any])


def file_argument(command: Command) -> Command:
    return click.argument("file", type=click.Path(exists=True, dir_okay=False))(command)


master_option = click.option("--master", metavar="URL", help="A Spark cluster, instead of what the file says.")
cluster_options = other_cluster_options("Kafka's brokers, instead of what the file says of its topics.")


@click.group("pipeline")
def command() -> None:
    """Run pipelines of sources, steps and sinks on Spark, each declared in a TOML file."""


@command.command("check")
@file_argument
@master_option
@cluster_options
def check(file: str, master: str | None, bootstrap_server: str | None) -> None:
    """Check whether a pipeline can run, and report all mistakes.

    Checks the file, the options, the topics in the cluster, the SQL and Python steps, columns and types. No record is
    read. Exit code: 0 without a mistake, 2 with mistakes, 3 if the cluster cannot be reached.
    """
    found = _declared(file, bootstrap_server)
    pipeline = found.pipeline
    with spark_session(found, master) as session:
        built(session, found)
    parts = ((pipeline.sources, "source"), (pipeline.steps, "step"), (pipeline.sinks, "sink"))
    counted = ", ".join(f"{len(found)} {name}{'' if len(found) == 1 else 's'}" for found, name in parts)
    click.echo(f"{pipeline.name}: {counted}: all can be run")


@command.command("plan")
@file_argument
@master_option
@cluster_options
def plan(file: str, master: str | None, bootstrap_server: str | None) -> None:
    """Print what Spark would do for each sink, and the columns that it would be given.

    The pipeline is checked first, as by `kcli pipeline check`.
    """
    found = _declared(file, bootstrap_server)
    with spark_session(found, master) as session:
        frames = built(session, found)
        for sink in found.pipeline.sinks:
            frame = frames.of_sink(sink)
            click.echo(f"== {sink.name}: {sink.input} to {sink.format}, {sink.mode}")
            for field in frame.schema.fields:
                click.echo(f"   {field.name}: {field.dataType.simpleString()}")
            # Spark explains a stream whose plan is analysed; that of a SQL text is not, and would be refused.
            frame.select("*").explain(mode="formatted")


@command.command("run")
@file_argument
@master_option
@cluster_options
@live_output_option
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve metrics over HTTP, at /metrics, in Prometheus' text format; 0 takes a free port.",
)
@click.option("--metrics-host", default="127.0.0.1", show_default=True, metavar="HOST", help="Where to serve them.")
def run(
    file: str,
    master: str | None,
    bootstrap_server: str | None,
    output: str,
    metrics_port: int | None,
    metrics_host: str,
) -> int:
    """Run a pipeline until its streams end, or until Ctrl-C or SIGTERM.

    The pipeline is checked first, as by `kcli pipeline check`. The rows of a console sink are printed to stdout; on a
    terminal the live view is below them. With -o jsonl stdout has JSON alone, and rows go to stderr.

    The first Ctrl-C lets every batch finish. A second one does not wait for batches. The next run goes on from the
    checkpoint.
    """
    from kspark.pipeline.findings import PipelineError

    found = _declared(file, bootstrap_server)
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
                    click.echo(f"{pipeline.name}: finishing its batches; Ctrl-C again cuts them off", err=True)
                is_whole = running.stop()
        except PipelineError as error:
            raise Failure(f"{file}: {error}") from None
    if not interrupted:
        return OK
    how = "every batch was finished" if is_whole else "a batch was cut off, and is made again by the next run"
    click.echo(f"{pipeline.name}: stopped; {how}", err=True)
    return INTERRUPTED


def _declared(file: str, bootstrap_server: str | None) -> Declared:
    servers, properties = other_cluster(bootstrap_server)
    return declared(file, servers, properties)


@contextmanager
def _ending(running: Run) -> Iterator[list[int]]:
    """Lets the first signal end the run; it is listed. Nothing is raised into a call that Spark is answering."""
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
