"""What a forked process does to be a broker: `kcore.server.run`, and a thread that obeys its control channel.

The first message back is ("started", what there is to say of it), or ("failed", why it could not start). Afterwards
every message is a command to the broker's faults, and is answered (`fault_commands.py`). The channel's end says
nothing: the fork server ends brokers whose EmbeddedBroker is gone.
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
    """Runs the broker until a signal ends it; answers the exit code of its process."""
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
    """Why the broker did not start; errors in its properties name the argument that they came from."""
    from kcore.config.definition import ConfigException

    if not isinstance(error, ConfigException):
        return str(error)
    return "\n".join(f"EmbeddedBroker(properties): {part}" for part in error.parts)


def description(started: StartedBroker) -> dict[str, object]:
    """What an EmbeddedBroker knows of its broker."""
    return {
        "broker_id": started.broker_id,
        "cluster_id": started.cluster_id,
        "listeners": started.listeners,
        "pid": started.pid,
        "data_dir": started.data_dir,
    }


def obey(broker: Broker, control: Packets) -> None:
    """Carries out what comes, until the other end is closed."""
    while True:
        command = packets.receive_packet(control)
        if command is None:
            return
        from kcore.testing.fault_commands import carry_out

        packets.send_packet(control, carry_out(broker, command))
