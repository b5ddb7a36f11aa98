"""`kcli server-start`: runs a broker in this process until SIGINT or SIGTERM.

One line on stdout says that the broker serves; everything else goes to stderr. Without a properties file the broker
listens on the loopback interface only, because it has no passwords then. With a file, its listeners apply, as in Kafka.
"""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.failures import UsageFailure
from kcli.ranges import IntegerRange
from kcli.server_process import JSON, JSON_LINES, TABLE, ServerArguments, serve


@click.command(
    "server-start",
    cls=Command,
    examples="""
    # Start a broker on 127.0.0.1:9092
    kcli server-start
    # Start a broker with a configuration file of Apache Kafka
    kcli server-start server.properties
    # Start a broker on a free port, with its own data directory and metrics
    kcli server-start --data-dir /tmp/kcli --port 0 --override metrics.port=9404
    """,
)
@click.argument("properties_file", metavar="[SERVER.PROPERTIES]", required=False)
@click.option(
    "--override",
    "overrides",
    multiple=True,
    metavar="NAME=VALUE",
    help="Property that replaces one of the file. --data-dir and --port replace both. May be repeated.",
)
@click.option(
    "--data-dir",
    metavar="DIR",
    help="Directory for logs. Default: log.dirs of the file, $KCLI_DATA_DIR, or ~/.local/share/kcli.",
)
@click.option(
    "--port",
    type=IntegerRange(0, 65535),
    metavar="PORT",
    help="Port to listen on; 0 chooses a free port. Default: the port in listeners, or 9092.",
)
@click.option(
    "--rebuild-metadata",
    is_flag=True,
    help="Rebuild a lost or damaged metadata store: restore topics, topic ids and partitions from the log directories. "
    "Configurations and quotas cannot be restored. An intact store is not changed.",
)
@click.option("-daemon", "daemon", is_flag=True, hidden=True)
@click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="Output format of the startup line.",
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

    SERVER.PROPERTIES is a configuration file of Apache Kafka. Settings for ZooKeeper and KRaft are ignored with a
    warning. Precedence: --data-dir and --port, --override, the file, the defaults.

    Without a file, the broker listens on 127.0.0.1. With --port, a file without listeners listens on 127.0.0.1 too.
    Stop the broker with Ctrl-C, SIGTERM or `kcli server-stop`.
    """
    if daemon:
        raise UsageFailure(
            "-daemon is not supported: the broker runs in the foreground. Use systemd, or append & to the command"
        )
    return serve(ServerArguments(properties_file, overrides, data_dir, port, output, rebuild_metadata))
