"""Runs a broker in this process: what `kcli server-start` does once its arguments are understood.

Imports no Click, and `plain_arguments` understands the usual command lines without it: Click would be half of what a
broker loads, and a third of its start. Whatever is not plain (help, abbreviations, mistakes) is left to Click, which
ends in the same `serve`.
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
    """What the command line says; None is what it leaves to the file and to defaults."""

    properties_file: str | None = None
    overrides: tuple[str, ...] = ()
    data_dir: str | None = None
    port: int | None = None
    output: str = TABLE
    rebuild_metadata: bool = False


def plain_arguments(arguments: Sequence[str]) -> ServerArguments | None:
    """The arguments where every one is known and has its value apart; None leaves them to Click."""
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
    """Starts the broker, says so, and returns its exit code when it has stopped."""
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
            text += "; choose another --port, or stop the process that listens there"
        raise (DeniedFailure if isinstance(error, PermissionError) else Failure)(text) from None
    finally:
        for directory in served:
            remove_pid_file(directory)


def server_properties(
    properties_file: str | None, overrides: tuple[str, ...], data_dir: str | None, port: int | None
) -> Properties:
    """What the broker is started with: the file, then the overrides, then --data-dir and --port."""
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
    """The listeners of the configuration, the first one that is for clients moved to another port.

    What is advertised moves along where it was the same port; another one is somebody's who forwards it.
    """
    stated = _addresses(properties, "listeners")
    controllers = {name.strip() for name in properties.get("controller.listener.names", "").split(",")}
    if not stated:
        return {"listeners": f"PLAINTEXT://{LOOPBACK}:{port}"}
    moved = next((listener for listener in stated if listener.partition("://")[0] not in controllers), None)
    if moved is None:  # which the broker refuses, with the reason
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
    """The line that a script waits for, written at once also when stdout is a pipe."""
    if output == TABLE:
        listeners = ",".join(broker.listeners)
        line = f"started broker {broker.broker_id} on {listeners}, data in {broker.data_dir}"
    else:
        import json

        fields = ("broker_id", "cluster_id", "listeners", "pid", "data_dir", "metrics_url")
        line = json.dumps({name: getattr(broker, name) for name in fields}, separators=(",", ":"))
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
