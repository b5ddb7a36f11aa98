"""`kcli server-start`: runs a broker in this process until SIGINT or SIGTERM.

One line on stdout says that it serves; everything else goes to stderr. Without a properties file the broker listens on
the loopback interface only, because it knows no passwords then; with one, what the file says holds, as in Kafka.
"""

from __future__ import annotations

import click

from kcli.failures import UsageFailure
from kcli.server_process import JSON, JSON_LINES, TABLE, ServerArguments, serve


@click.command("server-start")
@click.argument("properties_file", metavar="[SERVER.PROPERTIES]", required=False)
@click.option("--override", "overrides", multiple=True, metavar="NAME=VALUE", help="Set a property, over the file.")
@click.option(
    "--data-dir",
    metavar="DIR",
    help="Where the logs are kept. Default: log.dirs of the file, or else $KCLI_DATA_DIR, or else ~/.local/share/kcli.",
)
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on; 0 takes a free one.")
@click.option(
    "--rebuild-metadata",
    is_flag=True,
    help="Where the metadata store is lost or damaged: make topics, their ids and partitions known again from the log "
    "directories. Configurations and quotas cannot be recovered; a sound store is used as it is.",
)
@click.option("-daemon", "daemon", is_flag=True, hidden=True)
@click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="How to print the line that says that the broker serves.",
)
def command(
    properties_file: str | None,
    overrides: tuple[str, ...],
    data_dir: str | None,
    port: int | None,
    rebuild_metadata: bool,
    daemon: bool,
    output: str,
) -> int:
    """Start a broker and serve until it is stopped.

    SERVER.PROPERTIES is a configuration file of Apache Kafka, in ZooKeeper's or KRaft's form; without one every
    setting has its default, and the broker listens on 127.0.0.1. Ctrl-C, SIGTERM or `kcli server-stop` end it.
    """
    if daemon:
        raise UsageFailure("-daemon: the broker stays in the foreground; put it under systemd, or behind `&`")
    return serve(ServerArguments(properties_file, overrides, data_dir, port, output, rebuild_metadata))
