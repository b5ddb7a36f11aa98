"""`kcli server-start`: runs a broker in this process until SIGINT or SIGTERM.

One line on stdout says that it serves; everything else goes to stderr. Without a properties file the broker listens on
the loopback interface only, because it knows no passwords then; with one, what the file says holds, as in Kafka.
"""

from __future__ import annotations

import os
import sys

import click

from kcli.data_directory import default_data_directory, remove_pid_file, write_pid_file
from kcli.failures import Failure, UsageFailure
from kcli.options import parse_properties, read_properties
from kcli.output import JSON, JSON_LINES, TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.server.run import StartedBroker

DEFAULT_PORT = 9092
LOOPBACK = "127.0.0.1"


@click.command("server-start")
@click.argument("properties_file", metavar="[SERVER.PROPERTIES]", required=False)
@click.option("--override", "overrides", multiple=True, metavar="NAME=VALUE", help="Set a property, over the file.")
@click.option(
    "--data-dir",
    metavar="DIR",
    help="Where the logs are kept. Default: log.dirs of the file, or else $KCLI_DATA_DIR, or else ~/.local/share/kcli.",
)
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on; 0 takes a free one.")
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
    daemon: bool,
    output: str,
) -> int:
    """Start a broker and serve until it is stopped.

    SERVER.PROPERTIES is a configuration file of Apache Kafka, in ZooKeeper's or KRaft's form; without one every
    setting has its default, and the broker listens on 127.0.0.1. Ctrl-C, SIGTERM or `kcli server-stop` end it.
    """
    if daemon:
        raise UsageFailure("-daemon: the broker stays in the foreground; put it under systemd, or behind `&`")
    properties = server_properties(properties_file, overrides, data_dir, port)
    from kcore.config.definition import ConfigException
    from kcore.server.run import run

    served: list[str] = []

    def on_started(broker: StartedBroker) -> None:
        served.append(broker.data_dir)
        write_pid_file(broker.data_dir)
        _announce(broker, output)

    try:
        return run(properties, on_started=on_started)
    except ConfigException as error:
        raise UsageFailure(f"{properties_file or 'configuration'}: {error}") from None
    except OSError as error:
        if error.filename is not None:
            raise
        raise Failure(str(error)) from None
    finally:
        for directory in served:
            remove_pid_file(directory)


def server_properties(
    properties_file: str | None, overrides: tuple[str, ...], data_dir: str | None, port: int | None
) -> dict[str, str]:
    """What the broker is started with: the file, then the overrides, then --data-dir and --port."""
    properties = read_properties(properties_file)
    properties.update(parse_properties(overrides, "--override"))
    if data_dir is not None:
        properties["log.dirs"] = os.path.abspath(data_dir)
    elif "log.dirs" not in properties and "log.dir" not in properties:
        properties["log.dirs"] = default_data_directory()
    if port is not None:
        properties["listeners"] = _with_port(properties, port)
    elif properties_file is None and "listeners" not in properties:
        properties["listeners"] = f"PLAINTEXT://{LOOPBACK}:{DEFAULT_PORT}"
    return properties


def _with_port(properties: dict[str, str], port: int) -> str:
    """The listeners of the configuration, the first one that is for clients moved to another port."""
    stated = [listener.strip() for listener in properties.get("listeners", "").split(",") if listener.strip()]
    if not stated:
        return f"PLAINTEXT://{LOOPBACK}:{port}"
    controllers = {name.strip() for name in properties.get("controller.listener.names", "").split(",")}
    for index, listener in enumerate(stated):
        name, _, address = listener.partition("://")
        if name not in controllers:
            stated[index] = f"{name}://{address.rpartition(':')[0]}:{port}"
            break
    return ",".join(stated)


def _announce(broker: StartedBroker, output: str) -> None:
    """The line that a script waits for, written at once also when stdout is a pipe."""
    if output == TABLE:
        listeners = ",".join(broker.listeners)
        line = f"started broker {broker.broker_id} on {listeners}, data in {broker.data_dir}"
    else:
        from kcli.output import to_json

        line = to_json(
            {
                "broker_id": broker.broker_id,
                "cluster_id": broker.cluster_id,
                "listeners": broker.listeners,
                "pid": broker.pid,
                "data_dir": broker.data_dir,
            }
        )
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
