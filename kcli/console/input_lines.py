"""Lines of a stream of bytes, as they arrive.

A line ends with a line feed, or with a carriage return and a line feed. The last line needs no line feed. Bytes are not
decoded.
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
    """All complete lines of each read.

    `prompt` is printed before a read that starts a line. `blocking` waits for input, and may raise to end the wait.
    """
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    # Pieces of an incomplete line, joined only once, which keeps long lines linear.
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
