"""Hosts run the broker of an EmbeddedBroker: in a forked process, or in threads of this process.

A host starts, stops and signals a broker. It does not handle ports, directories and topics.
"""

from __future__ import annotations

import signal

from kcore.testing import packets
from kcore.testing.errors import BrokerDied, BrokerNotStarted, BrokerStuck
from kcore.testing.packets import Packets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from kcore.server.broker import Broker
    from kcore.testing.fork_server_client import Lifeline

    class Host(Protocol):
        """`start` begins the start. `await_start` returns the broker's description, or raises BrokerNotStarted."""

        def start(self, properties: Mapping[str, str], log_path: str) -> None: ...
        def await_start(self, timeout_s: float) -> dict[str, Any]: ...
        def is_running(self) -> bool: ...
        def stop(self, timeout_s: float) -> int: ...
        def kill(self) -> None: ...
        def signal(self, number: int) -> None: ...
        def command(self, *command: Any) -> Any: ...
        def close(self) -> None: ...


class ProcessHost:
    """A process forked from the fork server. `directory` is removed on `close`, or when this process dies."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lifeline: Lifeline | None = None
        self._control: Packets | None = None

    def start(self, properties: Mapping[str, str], log_path: str) -> None:
        from kcore.testing.fork_server_client import ForkServerError, fork_server

        if self._lifeline is not None:
            try:
                self._control = self._lifeline.start(properties, log_path)
                return
            except ForkServerError:
                self._lifeline.close()  # the fork server was killed: launch another one
        self._lifeline = fork_server().lifeline(self._directory)
        self._control = self._lifeline.start(properties, log_path)

    def await_start(self, timeout_s: float) -> dict[str, Any]:
        from kcore.testing.fork_server_client import ForkServerError

        control = self._open_control()
        control.settimeout(timeout_s)
        try:
            message = packets.receive_packet(control)
        except TimeoutError:
            self.kill()
            raise BrokerNotStarted(f"the broker did not start within {timeout_s:g} s") from None
        if message is None or message[0] != "started":
            try:
                code = self._ended(self._open_lifeline().wait(timeout_s))
            except ForkServerError as error:
                self._ended(None)
                raise BrokerNotStarted(f"the broker did not start: {error}") from error
            said = message[1] if message is not None else f"its process ended with {code}"
            raise BrokerNotStarted(f"the broker did not start: {said}")
        control.settimeout(None)
        description: dict[str, Any] = message[1]
        return description

    def is_running(self) -> bool:
        from kcore.testing.fork_server_client import ForkServerError

        if self._control is None:
            return False
        try:
            if self._open_lifeline().has_ended():
                self._ended(self._open_lifeline().wait(0.0))
        except ForkServerError:
            self._ended(None)
        return self._control is not None

    def stop(self, timeout_s: float) -> int:
        code = self._open_lifeline().end(signal.SIGTERM, timeout_s)
        if code is None:
            self.kill()
            raise BrokerStuck(f"the broker had not stopped {timeout_s:g} s after SIGTERM, and was killed")
        return self._ended(code)

    def kill(self) -> None:
        lifeline = self._open_lifeline()
        self._ended(lifeline.end(signal.SIGKILL, None))

    def signal(self, number: int) -> None:
        self._open_lifeline().signal(number)

    def command(self, *command: Any) -> Any:
        """Execute a command in the broker's process. Raises ValueError if it raises that there."""
        control = self._open_control()
        try:
            packets.send_packet(control, command)
            answer = packets.receive_packet(control)
        except OSError as error:
            raise BrokerDied(f"the broker's process is gone ({error})") from error
        if answer is None:
            raise BrokerDied("the broker's process is gone")
        if answer[0] == "refused":
            raise ValueError(answer[1])
        return answer[1]

    def close(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None

    def _ended(self, code: int | None) -> int:
        if self._control is not None:
            self._control.close()
            self._control = None
        return -signal.SIGKILL if code is None else code

    def _open_lifeline(self) -> Lifeline:
        assert self._lifeline is not None
        return self._lifeline

    def _open_control(self) -> Packets:
        assert self._control is not None
        return self._control


class ThreadHost:
    """Threads of this process, for debuggers and coverage. It cannot be killed or paused."""

    def __init__(self) -> None:
        self._broker: Broker | None = None

    def start(self, properties: Mapping[str, str], log_path: str) -> None:
        from kcore.config.broker import BrokerConfig
        from kcore.config.definition import ConfigException
        from kcore.server.broker import Broker
        from kcore.server.run import start
        from kcore.testing.broker_main import refusal

        try:
            broker = Broker(BrokerConfig(properties))
            start(broker)
        except (ConfigException, OSError) as error:
            raise BrokerNotStarted(f"the broker did not start: {refusal(error)}") from error
        self._broker = broker

    def await_start(self, timeout_s: float) -> dict[str, Any]:
        from kcore.server.run import StartedBroker
        from kcore.testing.broker_main import description

        return description(StartedBroker(self._open_broker()))

    def is_running(self) -> bool:
        return self._broker is not None

    def stop(self, timeout_s: float) -> int:
        broker, self._broker = self._open_broker(), None
        broker.shutdown()
        return 1 if broker.failed else 0

    def kill(self) -> None:
        raise RuntimeError("a broker inside this process cannot be killed: create it without in_process")

    def signal(self, number: int) -> None:
        raise RuntimeError("a broker inside this process cannot be paused: create it without in_process")

    def command(self, *command: Any) -> Any:
        from kcore.testing.fault_commands import carry_out

        answer = carry_out(self._open_broker(), command)
        if answer[0] == "refused":
            raise ValueError(answer[1])
        return answer[1]

    def close(self) -> None:
        if self._broker is not None:
            self.stop(0.0)

    def _open_broker(self) -> Broker:
        assert self._broker is not None
        return self._broker
