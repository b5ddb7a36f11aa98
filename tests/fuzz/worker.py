"""A process that fuzzes on demand, for campaigns in the sanitizer build: `-m tests.fuzz.worker TARGET INPUT-FILE`.

Its first line on stdout says how kcore was built. Then each line of stdin is a number, `seed`, whose cases it runs, and
a line on stdout answers: `{"cases": n}`, or `{"error": ..., "input": hex}`. The case in hand stands in the input file
(its size in four bytes, then the bytes), so that whoever started the process has it when the process dies or hangs.

Memory: what one seed's cases make the process grow by is bounded (GROWTH_BYTES), and so is, by the sanitizer's options
that `session.py` sets, what one allocation may ask for.

KCLI_FUZZ_CASES is the number of cases of a seed. Default: that of the target.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import sys
from pathlib import Path

from tests.fuzz.targets import Target, load_target

INPUT_BYTES = 1 << 20
GROWTH_BYTES = 256 << 20


class InputFile:
    """Where the case in hand is kept for the other process."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(INPUT_BYTES))
        with path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), INPUT_BYTES)

    def keep(self, data: bytes) -> None:
        self.memory[: 4 + len(data)] = len(data).to_bytes(4, "big") + data


def read_input(path: Path) -> bytes:
    """The case that was in hand last."""
    content = path.read_bytes()
    return content[4 : 4 + int.from_bytes(content[:4], "big")]


def how_built() -> str:
    """`address` when the codec's extension calls AddressSanitizer, else `release`."""
    from kcore.protocol import decoder

    assert decoder.__file__ is not None
    return "address" if b"__asan_init" in Path(decoder.__file__).read_bytes() else "release"


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run_seed(target: Target, seed: int, kept: InputFile | None = None) -> int:
    """The seed's cases; raises what the first bad one finds."""
    source = random.Random(f"{target.name} {seed}")
    before = peak_bytes()
    cases = int(os.environ.get("KCLI_FUZZ_CASES", target.cases_per_seed))
    for _ in range(cases):
        data = target.generate(source, seed)
        if kept is not None:
            kept.keep(data)
        target.check(data)
    grown = peak_bytes() - before
    assert grown < GROWTH_BYTES, f"the cases of seed {seed} took {grown} bytes"
    return cases


def main() -> None:
    target = load_target(sys.argv[1])
    path = Path(sys.argv[2])
    kept = InputFile(path)
    print(json.dumps({"build": how_built()}), flush=True)
    for line in sys.stdin:
        try:
            answer: dict[str, object] = {"cases": run_seed(target, int(line), kept)}
        except Exception as error:
            import traceback

            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}", "input": read_input(path).hex()}
        print(json.dumps(answer), flush=True)
    target.close()


if __name__ == "__main__":
    main()
