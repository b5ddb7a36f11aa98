"""The faults of a broker, and what becomes of the answers that they strike.

Every request of an API with a fault goes to a Python handler, also Produce and Fetch, whose native handlers are taken
out of the dispatch table for as long.

Requests whose answer is dropped are kept, at most one a connection, until faults are cleared or the broker stops: then
their connections are closed, for clients that wait have waited in vain.

Concurrency: any thread; nothing is answered under a lock.
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
    """`channel` is where delayed answers come back from their timer; `dispatch` is the server's."""

    def __init__(self, channel: RequestChannel, dispatch: DispatchTable) -> None:
        self.registry = FaultRegistry(Fault, self._hand_over)
        self._channel = channel
        self._dispatch = dispatch
        self._unanswered: list[Request] = []
        self._delayed: set[Request] = set()
        self._timer: Timer | None = None
        self._is_shut_down = False

    def add(self, **what: Any) -> int:
        """Makes a fault and answers its number; ValueError says what about it cannot be."""
        number = self.registry.add(what)
        LOG.warn("Fault %d: %s", number, what)
        return number

    def clear(self) -> None:
        """Ends all faults, and the connections of requests that were left without an answer."""
        self.registry.clear()
        with self.registry.changed:
            unanswered, self._unanswered = self._unanswered, []
        for request in unanswered:
            request.respond(None, close=True)

    def shutdown(self) -> None:
        """Ends what waits, so that nothing in flight keeps the broker from stopping."""
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
        """What happens to this request, unless nothing does."""
        fault = self.registry.strike(lambda fault: fault.is_meant_for(request))
        return None if fault is None else Strike(self, fault, request)

    def keep_unanswered(self, request: Request) -> None:
        """Answers nothing, until it is too late."""
        with self.registry.changed:
            if not self._is_shut_down:
                self._unanswered.append(request)
                return
        request.respond(None, close=True)

    def schedule(self, request: Request, delay_ms: int, answer: Callable[[], None]) -> None:
        """Has an answer sent later; a broker that stops first closes the connection instead."""

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
        """Has requests that a fault is meant for come to a handler, natively handled or not."""
        meant = {fault.api_key for fault in active}
        self._dispatch.hand_over(None if None in meant else [key for key in meant if key is not None])


class Strike:
    """One request that a fault has struck."""

    __slots__ = ("_error_fields", "_faults", "_request", "fault")

    def __init__(self, faults: FaultTable, fault: Fault, request: Request) -> None:
        self.fault = fault
        self._faults = faults
        self._request = request
        self._error_fields: Fields | None = None

    def run(self, handler: ModuleType, context: RequestContext, message: Any, carry_out: Callable[..., None]) -> None:
        """Has the request carried out or not; either way it is answered by way of `context`."""
        context.strike = self
        if self.fault.error is not None:
            # Where an API has no answer to carry the error (acks=0) its handler closes the connection right here.
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
        """The fields that are answered instead of the true ones."""
        return fields if self._error_fields is None else self._error_fields

    def answer(self, respond: Callable[[], None], payload: bytes | None) -> None:
        """Does to an answer what the fault does; `respond` is what would send it unharmed."""
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
