"""Commands over the control channel of a broker that a test has started."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.server.broker import Broker
    from kcore.testing.packets import Message


def carry_out(broker: Broker, command: Message) -> Message:
    """The answer: ("done", value), or ("refused", why)."""
    return ("refused", f"the broker has no command {command[0]!r}")
