"""The main function of a forked broker process: `kcore.server.run`, plus a thread for the control channel.

The first message on the channel is ("started", description) or ("failed", reason). After that, every received message
is a fault command, and is answered (`fault_commands.py`). The end of the channel has no effect: the fork server ends
brokers whose EmbeddedBroker is gone.
"""

from __future__ import annotations

from kcore.testing import packets
from kcore.testing.packets import Packets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.server.broker import Broker
    from kcore.server.run import StartedBroker

START_FAILED = 1


def serve(properties: Mapping[str, str], control: Packets) -> int:
    """Run the broker until a signal ends it. Returns the exit code of the process."""
    from kcore.config.definition import ConfigException
    from kcore.server.run import run

    def on_started(started: StartedBroker) -> None:
        from threading import Thread

        Thread(target=obey, args=(started.broker, control), name="kcli-control", daemon=True).start()
        packets.send_packet(control, ("started", description(started)))

    try:
        return run(properties, on_started=on_started)
    except (ConfigException, OSError) as error:
        packets.send_packet(control, ("failed", refusal(error)))
        return START_FAILED


def refusal(error: Exception) -> str:
    """Return why the broker did not start. Errors in its properties name the argument of EmbeddedBroker."""
    from kcore.config.definition import ConfigException

    if not isinstance(error, ConfigException):
        return str(error)
    return "\n".join(f"EmbeddedBroker(properties): {part}" for part in error.parts)


def description(started: StartedBroker) -> dict[str, object]:
    """Return the facts about the broker that EmbeddedBroker needs."""
    return {
        "broker_id": started.broker_id,
        "cluster_id": started.cluster_id,
        "listeners": started.listeners,
        "pid": started.pid,
        "data_dir": started.data_dir,
    }


def obey(broker: Broker, control: Packets) -> None:
    """Execute commands until the other end of the channel is closed."""
    while True:
        command = packets.receive_packet(control)
        if command is None:
            return
        from kcore.testing.fault_commands import carry_out

        packets.send_packet(control, carry_out(broker, command))
