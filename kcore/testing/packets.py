"""Messages between a test process, the fork server and its brokers: one per packet, over Unix sockets (SEQPACKET).

A message is a tuple of plain values, encoded by `marshal`: all processes run the same interpreter and trust each other,
and `marshal` needs no imports. File descriptors are sent with a message (SCM_RIGHTS). The module `_socket` is used,
because importing `socket` would add several milliseconds to a start.

Limit: a packet has at most MAX_PACKET_BYTES, which is below the kernel's default send buffer.
"""

from __future__ import annotations

import _socket
import marshal
import sys
from _socket import (
    AF_UNIX,
    CMSG_SPACE,
    MSG_NOSIGNAL,
    SCM_RIGHTS,
    SOCK_CLOEXEC,
    SOCK_SEQPACKET,
    SOL_SOCKET,
    socketpair,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    Message: TypeAlias = tuple[Any, ...]

# One end of a connection.
Packets = _socket.socket
MAX_PACKET_BYTES = 128 * 1024
MAX_DESCRIPTORS = 4
DESCRIPTOR_BYTES = 4


def packet_pair() -> tuple[Packets, Packets]:
    """Return two connected ends. Both are closed on exec."""
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC)


def adopt(descriptor: int) -> Packets:
    """Return the end for a received descriptor."""
    return Packets(AF_UNIX, SOCK_SEQPACKET, 0, descriptor)


def send_packet(end: Packets, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Send a message. Raises OSError if the other end is closed, ValueError if the message is too large."""
    data = marshal.dumps(message)
    if len(data) > MAX_PACKET_BYTES:
        raise ValueError(f"a message of {len(data)} bytes does not fit into a packet of {MAX_PACKET_BYTES}")
    if not descriptors:
        end.send(data, MSG_NOSIGNAL)
        return
    rights = b"".join(descriptor.to_bytes(DESCRIPTOR_BYTES, sys.byteorder) for descriptor in descriptors)
    end.sendmsg([data], [(SOL_SOCKET, SCM_RIGHTS, rights)], MSG_NOSIGNAL)


def receive_packet(end: Packets, flags: int = 0) -> Message | None:
    """Return the next message; None if the other end is closed."""
    try:
        data = end.recv(MAX_PACKET_BYTES, flags)
    except ConnectionResetError:
        return None
    return marshal.loads(data) if data else None


def receive_packet_and_descriptors(end: Packets) -> tuple[Message | None, list[int]]:
    """Like `receive_packet`, with the received descriptors, which the caller must close."""
    data, ancillary, _, _ = end.recvmsg(MAX_PACKET_BYTES, CMSG_SPACE(MAX_DESCRIPTORS * DESCRIPTOR_BYTES))
    descriptors = [
        int.from_bytes(rights[position : position + DESCRIPTOR_BYTES], sys.byteorder)
        for level, kind, rights in ancillary
        if (level, kind) == (SOL_SOCKET, SCM_RIGHTS)
        for position in range(0, len(rights) - len(rights) % DESCRIPTOR_BYTES, DESCRIPTOR_BYTES)
    ]
    return (marshal.loads(data) if data else None), descriptors
