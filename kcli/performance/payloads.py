"""Contents of written records: values of random letters, from a file, or numbers; and keys with a distribution.

Random values are the same for the same seed. Source: ProducerPerformance of Kafka 4 (letters A to Z; lines of a file in
random order; numbers from 0 on). Keys are an addition.
"""

from __future__ import annotations

import random

from kcli.failures import UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    class Payloads(Protocol):
        """`record_size` is the expected size in bytes; `take` returns the next values."""

        record_size: int

        def take(self, count: int) -> list[bytes]: ...

    KeySource = Callable[[int], list[bytes]]

POOL_BYTES = 1 << 20
LETTERS = bytes(65 + number * 26 // 256 for number in range(256))
MAX_KEYS = 10_000_000
DEFAULT_ZIPF_EXPONENT = 0.99
KEY_FORMS = "sequential:N, uniform:N or zipf:N[:EXPONENT]"


class RandomPayloads:
    """Records of one size, cut from changing places of a pool of random letters."""

    def __init__(self, record_size: int, seed: int = 0) -> None:
        self.record_size = record_size
        self._random = random.Random(seed)
        self._pool = self._random.randbytes(POOL_BYTES + record_size).translate(LETTERS)

    def take(self, count: int) -> list[bytes]:
        size, pool = self.record_size, self._pool
        step = self._random.randrange(1, 1024)
        starts = range(0, count * step, step)
        return [pool[start % POOL_BYTES : start % POOL_BYTES + size] for start in starts]


class FilePayloads:
    """Records chosen at random from the parts of a file."""

    def __init__(self, payloads: Sequence[bytes], seed: int = 0) -> None:
        self._payloads = payloads
        self.record_size = max(1, sum(map(len, payloads)) // len(payloads))
        self._random = random.Random(seed)

    def take(self, count: int) -> list[bytes]:
        return self._random.choices(self._payloads, k=count)


class MonotonicPayloads:
    """Numbers from `first` on, as text."""

    record_size = 8

    def __init__(self, first: int = 0) -> None:
        self._next = first

    def take(self, count: int) -> list[bytes]:
        first, self._next = self._next, self._next + count
        return [b"%d" % number for number in range(first, first + count)]


def read_payload_file(path: str, delimiter: str) -> list[bytes]:
    """The parts of a file that are not empty. `delimiter` may contain escapes such as \\n."""
    separator = delimiter.encode().decode("unicode_escape").encode("latin-1", "surrogateescape")
    with open(path, "rb") as file:
        payloads = [part for part in file.read().split(separator) if part]
    if not payloads:
        raise UsageFailure(f"--payload-file {path}: contains no record. Check --payload-delimiter")
    return payloads


def key_source(text: str, seed: int = 0) -> KeySource:
    """Keys "0" to "N-1": in sequence, with equal probability, or by Zipf's law with "0" the most frequent."""
    form, _, rest = text.partition(":")
    count_text, _, exponent_text = rest.partition(":")
    try:
        count = int(count_text)
        exponent = float(exponent_text) if exponent_text else DEFAULT_ZIPF_EXPONENT
    except ValueError:
        raise UsageFailure(f"--key-distribution {text!r}: must be {KEY_FORMS}") from None
    if form not in ("sequential", "uniform", "zipf") or not 0 < count <= MAX_KEYS or (exponent_text and form != "zipf"):
        raise UsageFailure(f"--key-distribution {text!r}: must be {KEY_FORMS}, with N from 1 to {MAX_KEYS}")
    keys = [b"%d" % number for number in range(count)]
    source = random.Random(seed)
    if form == "uniform":
        return lambda wanted: source.choices(keys, k=wanted)
    if form == "zipf":
        return _zipf(keys, exponent, source)
    return _sequential(keys)


def _zipf(keys: list[bytes], exponent: float, source: random.Random) -> KeySource:
    from itertools import accumulate

    weights = list(accumulate(1.0 / rank**exponent for rank in range(1, len(keys) + 1)))
    return lambda wanted: source.choices(keys, cum_weights=weights, k=wanted)


def _sequential(keys: list[bytes]) -> KeySource:
    from itertools import cycle, islice

    endless = cycle(keys)
    return lambda wanted: list(islice(endless, wanted))
