"""`kcli pipeline`: runs a pipeline that a TOML file declares, on Spark; or says what it would do."""

from __future__ import annotations

import signal
from contextlib import ExitStack, contextmanager

import click

from kcli.failures import INTERRUPTED, OK, Failure
from kcli.live_view import live_output_option, show
from kcli.options import other_cluster, other_cluster_options
from kcli.pipelines.session import built, read, spark_session
from kcli.pipelines.views import screen, views

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from kspark.pipeline.definition import Pipeline
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
    """Say whether a pipeline can be run: the file, its SQL and Python steps, columns and types. Nothing is read."""
    pipeline = _declared(file, bootstrap_server)
    with spark_session(pipeline, master) as session:
        built(session, pipeline)
    parts = ((pipeline.sources, "source"), (pipeline.steps, "step"), (pipeline.sinks, "sink"))
    counted = ", ".join(f"{len(found)} {name}{'' if len(found) == 1 else 's'}" for found, name in parts)
    click.echo(f"{pipeline.name}: {counted}: all can be run")


@command.command("plan")
@file_argument
@master_option
@cluster_options
def plan(file: str, master: str | None, bootstrap_server: str | None) -> None:
    """Print what Spark would do for each sink, and the columns that it would be given."""
    pipeline = _declared(file, bootstrap_server)
    with spark_session(pipeline, master) as session:
        frames = built(session, pipeline)
        for sink in pipeline.sinks:
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
    """Run a pipeline until its streams end, or Ctrl-C or SIGTERM, which let each finish the batch that it is at.

    Run again it goes on from its checkpoint. A second Ctrl-C does not wait for batches; they are made again then.
    """
    from kspark.pipeline.definition import PipelineError

    pipeline = _declared(file, bootstrap_server)
    with ExitStack() as stack:
        totals = None
        if metrics_port is not None:
            from kcli.pipelines.metrics_server import served
            from kspark.pipeline.metrics import Totals

            totals = Totals(pipeline.name)
            stack.enter_context(served(totals, metrics_host, metrics_port))
        session = stack.enter_context(spark_session(pipeline, master))
        from kspark.pipeline.run import Run

        running = Run(pipeline, built(session, pipeline), totals)
        try:
            with _ending(running) as interrupted:
                running.start()
                show(views(running), screen, output, f"{pipeline.name}: the first batch is on its way")
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


def _declared(file: str, bootstrap_server: str | None) -> Pipeline:
    from kspark.pipeline.definition import at_brokers

    servers, properties = other_cluster(bootstrap_server)
    pipeline = read(file)
    return pipeline if servers is None else at_brokers(pipeline, servers, properties)


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
