"""The faults of a broker, and how they change responses.

While an API has a fault, all its requests go to a Python handler. The native handlers of Produce and Fetch are taken
out of the dispatch table for this time.

A request whose response is dropped is kept, at most one per connection. Clearing the faults or stopping the broker
closes its connection, so that the client stops waiting.

Concurrency: any thread. No response is sent under a lock.
"""

from __future__ import annotations

from kcore.logger import get_logger
from kcore.server.faults.fault import Fault
from kcore.server.faults.registry import FaultRegistry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from kcore.network.dispatch import DispatchTable
    from kcore.network.request import Request
    from kcore.network.request_channel import RequestChannel
    from kcore.purgatory.timer import Timer
    from kcore.server.request_context import Fields, RequestContext

LOG = get_logger("kcore.server.faults")


class FaultTable:
    """The faults of one broker. The timer of delayed responses uses `channel`; `dispatch` is the server's table."""

    def __init__(self, channel: RequestChannel, dispatch: DispatchTable) -> None:
        self.registry = FaultRegistry(Fault, self._hand_over)
        self._channel = channel
        self._dispatch = dispatch
        self._unanswered: list[Request] = []
        self._delayed: set[Request] = set()
        self._timer: Timer | None = None
        self._is_shut_down = False

    def add(self, **what: Any) -> int:
        """Adds a fault and returns its number. Raises ValueError for an invalid description."""
        number = self.registry.add(what)
        LOG.warn("Fault %d: %s", number, what)
        return number

    def clear(self) -> None:
        """Removes all faults, and closes the connections of unanswered requests."""
        self.registry.clear()
        with self.registry.changed:
            unanswered, self._unanswered = self._unanswered, []
        for request in unanswered:
            request.respond(None, close=True)

    def shutdown(self) -> None:
        """Closes the connections of unanswered and delayed requests, so that they do not hold up the broker's stop."""
        with self.registry.changed:
            self._is_shut_down = True
            timer, self._timer = self._timer, None
            delayed, self._delayed = self._delayed, set()
        self.clear()
        for request in delayed:
            request.respond(None, close=True)
        if timer is not None:
            timer.shutdown()

    def strike(self, request: Request) -> Strike | None:
        """The strike on this request, or None if no fault strikes it."""
        fault = self.registry.strike(lambda fault: fault.is_meant_for(request))
        return None if fault is None else Strike(self, fault, request)

    def keep_unanswered(self, request: Request) -> None:
        """Keeps a request whose response is dropped. After shutdown, closes its connection instead."""
        with self.registry.changed:
            if not self._is_shut_down:
                self._unanswered.append(request)
                return
        request.respond(None, close=True)

    def schedule(self, request: Request, delay_ms: int, answer: Callable[[], None]) -> None:
        """Calls `answer` after `delay_ms`. If the broker stops first, closes the connection instead."""

        def answer_in_time() -> None:
            with self.registry.changed:
                if request not in self._delayed:
                    return
                self._delayed.remove(request)
            answer()

        with self.registry.changed:
            if not self._is_shut_down:
                if self._timer is None:
                    from kcore.purgatory.timer import Timer

                    self._timer = Timer(self._channel, "Fault")
                self._delayed.add(request)
                self._timer.schedule(delay_ms, answer_in_time)
                return
        request.respond(None, close=True)

    def _hand_over(self, active: tuple[Fault, ...]) -> None:
        """Routes the requests of APIs with a fault to Python handlers."""
        meant = {fault.api_key for fault in active}
        self._dispatch.hand_over(None if None in meant else [key for key in meant if key is not None])


class Strike:
    """A fault applied to one request."""

    __slots__ = ("_error_fields", "_faults", "_request", "fault")

    def __init__(self, faults: FaultTable, fault: Fault, request: Request) -> None:
        self.fault = fault
        self._faults = faults
        self._request = request
        self._error_fields: Fields | None = None

    def run(self, handler: ModuleType, context: RequestContext, message: Any, carry_out: Callable[..., None]) -> None:
        """Executes the request or not, as the fault says. Either way, the response goes through `context`."""
        context.strike = self
        if self.fault.error is not None:
            # If the response cannot carry the error (acks=0), the handler closes the connection here.
            self._error_fields = handler.error_response(context, message, self.fault.error)
        if context.is_answered:
            return
        if self.fault.execute:
            carry_out(handler, context, message)
        elif self._error_fields is not None:
            context.respond(self._error_fields)
        else:
            context.respond_nothing()

    def fields(self, fields: Fields) -> Fields:
        """The response fields to send: those of the fault's error, or else the original ones."""
        return fields if self._error_fields is None else self._error_fields

    def answer(self, respond: Callable[[], None], payload: bytes | None) -> None:
        """Applies the fault to a response. `respond` sends the unchanged response."""
        delay_ms = self.fault.delay_ms()
        if delay_ms:
            self._faults.schedule(self._request, delay_ms, lambda: self._answer_now(respond, payload))
        else:
            self._answer_now(respond, payload)

    def _answer_now(self, respond: Callable[[], None], payload: bytes | None) -> None:
        if self.fault.drop:
            self._faults.keep_unanswered(self._request)
        elif self.fault.after_bytes is None:
            respond()
        elif payload is None or not self.fault.after_bytes:
            self._request.respond(None, close=True)
        else:
            self._request.respond_cut(payload, self.fault.after_bytes)
