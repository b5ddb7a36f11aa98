"""A client's connection through a FaultProxy: its socket, the broker's socket, and one flow per direction.

The proxy's loop calls it when a socket is ready and when queued bytes are due. Nothing here blocks. Requests are
remembered by correlation id until they are answered, to know the API of each response. Responses have the order of
requests, so requests without a response (acks=0) are skipped.
"""

from __future__ import annotations

import selectors
import socket
import struct
from collections import deque

from kcore.logger import get_logger
from kcore.protocol.protocol_errors import MessageError
from kcore.testing.fault_proxy import address_rewriting
from kcore.testing.fault_proxy.flow import Flow, FramePlan, FrameTooLarge
from kcore.testing.fault_proxy.proxy_fault import REQUEST, RESPONSE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set
    from typing import Protocol

    from kcore.testing.fault_proxy.proxy import OnFrame
    from kcore.testing.fault_proxy.proxy_fault import ProxyFault

    class Surroundings(Protocol):
        """The proxy, as a connection uses it."""

        selector: selectors.BaseSelector
        max_frame_bytes: int
        on_frame: OnFrame

        def translate(self, node: int, host: str, port: int) -> tuple[str, int]: ...
        def strike(self, direction: str, api_key: int, nodes: Set[int]) -> ProxyFault | None: ...
        def forget(self, connection: ProxyConnection) -> None: ...


LOG = get_logger("kcore.testing.fault_proxy")

RECEIVE_BYTES = 256 * 1024
REQUEST_HEAD, RESPONSE_HEAD = 8, 4
# SO_LINGER with a timeout of 0 s: closing sends RST.
RESET = struct.pack("ii", 1, 0)
# Unanswered requests are dropped when later ones are answered. Beyond this number the oldest are dropped.
MAX_REMEMBERED_REQUESTS = 100_000


class Requests:
    """Frame rules for the direction to the broker. Remembers requests."""

    def __init__(self, proxy: Surroundings, nodes: Set[int]) -> None:
        self._proxy = proxy
        self._nodes = nodes
        self.pending: deque[tuple[int, int, int]] = deque(maxlen=MAX_REMEMBERED_REQUESTS)

    def on_frame(self, head: bytes, size: int) -> FramePlan:
        api_key = int.from_bytes(head[:2], "big", signed=True)
        version = int.from_bytes(head[2:4], "big", signed=True)
        correlation_id = int.from_bytes(head[4:8], "big", signed=True)
        self.pending.append((correlation_id, api_key, version))
        self._proxy.on_frame(REQUEST, api_key, version, size)
        struck = self._proxy.strike(REQUEST, api_key, self._nodes)
        return FramePlan() if struck is None else struck.plan()

    def on_collected(self, frame: bytes) -> bytes:
        return frame


class Responses:
    """Frame rules for the direction to the client. Rewrites addresses."""

    def __init__(self, proxy: Surroundings, nodes: Set[int], requests: Requests) -> None:
        self._proxy = proxy
        self._nodes = nodes
        self._requests = requests
        self._answered = (-1, -1)

    def on_frame(self, head: bytes, size: int) -> FramePlan:
        api_key, version = self._answered = self._request_of(int.from_bytes(head[:4], "big", signed=True))
        self._proxy.on_frame(RESPONSE, api_key, version, size)
        struck = self._proxy.strike(RESPONSE, api_key, self._nodes)
        plan = FramePlan() if struck is None else struck.plan()
        plan.collect = address_rewriting.is_addressed(api_key, version)
        return plan

    def on_collected(self, frame: bytes) -> bytes:
        return address_rewriting.rewritten(*self._answered, frame, self._proxy.translate)

    def _request_of(self, correlation_id: int) -> tuple[int, int]:
        """Return API key and version of the answered request; -1 if there is none (SASL frames)."""
        pending = self._requests.pending
        if not any(asked == correlation_id for asked, _, _ in pending):
            return -1, -1
        while True:
            asked, api_key, version = pending.popleft()
            if asked == correlation_id:
                return api_key, version


class Side:
    """A socket with its flows: received bytes go to `inward`, bytes of `outward` are sent."""

    __slots__ = ("interest", "inward", "outward", "socket", "was_shut")

    def __init__(self, end: socket.socket, inward: Flow, outward: Flow) -> None:
        self.socket = end
        self.inward = inward
        self.outward = outward
        self.interest = 0
        self.was_shut = False


class ProxyConnection:
    """`nodes` are the known node ids of the broker. The proxy may add more."""

    def __init__(self, proxy: Surroundings, client: socket.socket, upstream: socket.socket, nodes: Set[int]) -> None:
        self._proxy = proxy
        self.nodes = nodes
        self.is_paused = False
        self.is_open = True
        requests = Requests(proxy, nodes)
        responses = Responses(proxy, nodes, requests)
        to_broker = Flow(requests, REQUEST_HEAD)
        to_client = Flow(responses, RESPONSE_HEAD, proxy.max_frame_bytes)
        self._client = Side(client, to_broker, to_client)
        self._upstream = Side(upstream, to_client, to_broker)
        self._sides = (self._client, self._upstream)

    def next_due(self) -> float | None:
        """Return when the next delayed bytes may be sent."""
        if self.is_paused:
            return None
        waiting = [side.outward.next_due() for side in self._sides if not side.interest & selectors.EVENT_WRITE]
        return min((due for due in waiting if due is not None), default=None)

    @property
    def is_silent(self) -> bool:
        """Whether something was dropped on the connection, so that nothing more can be sent."""
        return any(side.inward.is_dead for side in self._sides)

    def on_ready(self, side: Side, events: int, now: float) -> None:
        """Handle a socket that is readable or writable."""
        try:
            if events & selectors.EVENT_READ:
                self._read(side, now)
            self.advance(now)
        except (OSError, FrameTooLarge, MessageError) as error:
            if not isinstance(error, OSError):
                LOG.warn("Closing a connection: %s", error)
            self.close()

    def _read(self, side: Side, now: float) -> None:
        try:
            data = side.socket.recv(RECEIVE_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        if data:
            side.inward.receive(data, now)
        else:
            side.inward.has_ended = True

    def advance(self, now: float) -> None:
        """Send the bytes that are due, close the connection if it is done, and update the events to wait for."""
        if not self.is_open or self.is_paused:
            return
        try:
            for side in self._sides:
                self._send(side, now)
        except OSError:
            self.close()
            return
        cut = [side.outward for side in self._sides if side.outward.is_cut and side.outward.is_empty]
        if cut or self._is_over():
            self.close(reset=any(flow.is_reset for flow in cut))
        else:
            for side in self._sides:
                self._watch(side, now)

    def _is_over(self) -> bool:
        """Whether both sides have closed, or one whose end cannot be passed on."""
        return all(side.inward.has_ended and side.inward.is_empty for side in self._sides) or any(
            side.inward.has_ended and side.inward.is_dead for side in self._sides
        )

    def _send(self, side: Side, now: float) -> None:
        while (piece := side.outward.due(now)) is not None:
            try:
                side.outward.sent(side.socket.send(piece))
            except (BlockingIOError, InterruptedError):
                return
        if side.outward.has_ended and side.outward.is_empty and not side.outward.is_dead and not side.was_shut:
            side.was_shut = True
            side.socket.shutdown(socket.SHUT_WR)

    def _watch(self, side: Side, now: float) -> None:
        """Register the events that this side waits for."""
        interest = 0
        if not side.inward.has_ended and not side.inward.is_full and not side.inward.is_cut:
            interest |= selectors.EVENT_READ
        if side.outward.due(now) is not None:
            interest |= selectors.EVENT_WRITE
        self._set_interest(side, interest)

    def _set_interest(self, side: Side, interest: int) -> None:
        if interest == side.interest:
            return
        selector, before, side.interest = self._proxy.selector, side.interest, interest
        if not interest:
            selector.unregister(side.socket)
        elif before:
            selector.modify(side.socket, interest, (self, side))
        else:
            selector.register(side.socket, interest, (self, side))

    def pause(self) -> None:
        """Stop forwarding in both directions until `resume`."""
        self.is_paused = True
        for side in self._sides:
            self._set_interest(side, 0)

    def resume(self, now: float) -> None:
        self.is_paused = False
        self.advance(now)

    def close(self, *, reset: bool = False) -> None:
        """Close both sides at once."""
        if not self.is_open:
            return
        self.is_open = False
        for side in self._sides:
            self._set_interest(side, 0)
            if reset:
                side.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            side.socket.close()
        self._proxy.forget(self)
