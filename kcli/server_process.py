"""Runs a broker in this process: the work of `kcli server-start` after its arguments are parsed.

Does not import Click, which would be half of what a broker loads and a third of its start-up time. `plain_arguments`
parses the usual command lines. Everything else (help, abbreviations, mistakes) is left to Click, which calls the same
`serve`.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import NamedTuple

from kcli.data_directory import default_data_directory, remove_pid_file, write_pid_file
from kcli.failures import DeniedFailure, Failure
from kcli.properties import Properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcore.server.run import StartedBroker

DEFAULT_PORT = 9092
MAX_PORT = 65_535
LOOPBACK = "127.0.0.1"
TABLE, JSON, JSON_LINES = "table", "json", "jsonl"
ENVIRONMENT_PREFIX = "KCLI_SERVER_START_"


class ServerArguments(NamedTuple):
    """The arguments of the command line; None means not given."""

    properties_file: str | None = None
    overrides: tuple[str, ...] = ()
    data_dir: str | None = None
    port: int | None = None
    output: str = TABLE
    rebuild_metadata: bool = False


def plain_arguments(arguments: Sequence[str]) -> ServerArguments | None:
    """The arguments, if all are known and written with separate values; otherwise None, and Click parses them."""
    if any(name.startswith(ENVIRONMENT_PREFIX) for name in os.environ):
        return None
    values: dict[str, str] = {}
    overrides: list[str] = []
    rebuild_metadata = False
    rest = iter(arguments)
    for argument in rest:
        if argument == "--override":
            overrides.append(next(rest, ""))
        elif argument == "--rebuild-metadata":
            rebuild_metadata = True
        elif argument in ("--data-dir", "--port", "-o", "--output"):
            values[argument.removeprefix("-o") or "--output"] = next(rest, "")
        elif argument.startswith("-") or "file" in values:
            return None
        else:
            values["file"] = argument
    output, port = values.get("--output", TABLE), values.get("--port")
    is_plain = output in (TABLE, JSON, JSON_LINES) and "" not in (*values.values(), *overrides)
    if not is_plain or (port is not None and not (port.isdecimal() and int(port) <= MAX_PORT)):
        return None
    number = None if port is None else int(port)
    return ServerArguments(
        values.get("file"), tuple(overrides), values.get("--data-dir"), number, output, rebuild_metadata
    )


def serve(arguments: ServerArguments) -> int:
    """Starts the broker, prints its address, and returns its exit code after it has stopped."""
    properties = server_properties(arguments.properties_file, arguments.overrides, arguments.data_dir, arguments.port)
    from kcore.config.definition import ConfigException
    from kcore.server.run import run

    served: list[str] = []

    def on_started(broker: StartedBroker) -> None:
        served.append(broker.data_dir)
        write_pid_file(broker.data_dir)
        _announce(broker, arguments.output)

    try:
        return run(properties, on_started=on_started, rebuild_metadata=arguments.rebuild_metadata)
    except ConfigException as error:
        raise properties.located(error) from None
    except OSError as error:
        if error.filename is not None:
            raise
        text = error.strerror or str(error)
        if error.errno == errno.EADDRINUSE:
            text += ". Stop the process that listens on this port, or choose another port with --port"
        elif error.errno == errno.EACCES:
            text += ". Ports below 1024 are reserved for root: choose another port with --port"
        elif error.errno == errno.EADDRNOTAVAIL and text.startswith("cannot resolve"):
            text += ". Correct the host name in listeners"
        elif error.errno == errno.EADDRNOTAVAIL:
            text += ". No network interface has this address: correct the host in listeners"
        raise (DeniedFailure if isinstance(error, PermissionError) else Failure)(text) from None
    finally:
        for directory in served:
            remove_pid_file(directory)


def server_properties(
    properties_file: str | None, overrides: tuple[str, ...], data_dir: str | None, port: int | None
) -> Properties:
    """The broker's properties. Precedence: --data-dir and --port, overrides, file."""
    properties = Properties()
    if properties_file is not None:
        properties.read_file(properties_file)
    properties.read_pairs(overrides, "--override")
    if data_dir is not None:
        properties.set("log.dirs", os.path.abspath(data_dir), f"--data-dir {data_dir}")
    elif "log.dirs" not in properties and "log.dir" not in properties:
        properties["log.dirs"] = default_data_directory()
    if port is not None:
        for name, value in _with_port(properties, port).items():
            properties.set(name, value, f"--port {port}")
    elif properties_file is None and "listeners" not in properties:
        properties["listeners"] = f"PLAINTEXT://{LOOPBACK}:{DEFAULT_PORT}"
    return properties


def _with_port(properties: dict[str, str], port: int) -> dict[str, str]:
    """Moves the first listener for clients to another port.

    Its advertised port moves too if it was the same. A different advertised port is kept: somebody forwards it.
    """
    stated = _addresses(properties, "listeners")
    controllers = {name.strip() for name in properties.get("controller.listener.names", "").split(",")}
    if not stated:
        return {"listeners": f"PLAINTEXT://{LOOPBACK}:{port}"}
    moved = next((listener for listener in stated if listener.partition("://")[0] not in controllers), None)
    if moved is None:  # only controller listeners: the broker refuses this and says why
        return {}
    name, old_port = moved.partition("://")[0], moved.rpartition(":")[2]
    changed = {"listeners": ",".join(_at_port(each, port) if each == moved else each for each in stated)}
    advertised = _addresses(properties, "advertised.listeners")
    if advertised:
        changed["advertised.listeners"] = ",".join(
            _at_port(each, port) if each.startswith(f"{name}://") and each.endswith(f":{old_port}") else each
            for each in advertised
        )
    return changed


def _addresses(properties: dict[str, str], name: str) -> list[str]:
    return [address.strip() for address in properties.get(name, "").split(",") if address.strip()]


def _at_port(address: str, port: int) -> str:
    return f"{address.rpartition(':')[0]}:{port}"


def _announce(broker: StartedBroker, output: str) -> None:
    """Prints the line that scripts wait for, flushed because stdout may be a pipe."""
    if output == TABLE:
        listeners = ",".join(broker.listeners)
        line = f"started broker {broker.broker_id} on {listeners}, data in {broker.data_dir}"
    else:
        import json

        fields = ("broker_id", "cluster_id", "listeners", "pid", "data_dir", "metrics_url")
        line = json.dumps({name: getattr(broker, name) for name in fields}, separators=(",", ":"))
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
