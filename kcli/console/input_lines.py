"""Lines of a stream of bytes, as they come.

A line ends with a line feed, which a carriage return may precede; the last one need not end at all, and is not lost.
Bytes are taken as they are: nothing is decoded.
"""

from __future__ import annotations

import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

READ_BYTES = 262_144


def read_lines(
    descriptor: int, prompt: str = "", blocking: Callable[[Callable[[], object]], object] = lambda wait: wait()
) -> Iterator[list[bytes]]:
    """Whole lines, as many as one read brings.

    `prompt` is shown before a read that begins a line; `blocking` waits for input, and may end that by an exception.
    """
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    # Pieces of a line whose end is still to come: joined once, however many there are.
    pieces: list[bytes] = []
    while True:
        if prompt and not pieces:
            sys.stderr.write(prompt)
            sys.stderr.flush()
        blocking(waiting.poll)
        piece = os.read(descriptor, READ_BYTES)
        if not piece:
            break
        end = piece.rfind(b"\n")
        if end < 0:
            pieces.append(piece)
            continue
        text = b"".join([*pieces, piece[:end]])
        pieces = [piece[end + 1 :]] if end + 1 < len(piece) else []
        yield _split(text)
    if pieces:
        yield _split(b"".join(pieces))


def _split(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    return [line.removesuffix(b"\r") for line in lines] if b"\r" in text else lines
