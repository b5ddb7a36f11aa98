"""What is fuzzed: one module a decoder, each with a `Target` of its own; NAMES has them.

A target makes inputs (`generate`) and judges one (`check`), which raises what it finds; the same input is always
judged the same way. Everything that decides about a case stands in its bytes, so that a file of the corpus is a whole
case.
"""

from __future__ import annotations

import random
from importlib import import_module
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
NAMES = (
    "frames",
    "headers",
    "broker_answers",
    "batches",
    "fetched",
    "indexes",
    "snapshots",
    "checkpoints",
    "group_log",
    "apis",
)


class Target:
    """One decoder under test."""

    name: str
    # Cases of one campaign seed: a second or two in the sanitizer build.
    cases_per_seed = 1000

    def generate(self, source: random.Random, seed: int) -> bytes:
        """The bytes of a case."""
        raise NotImplementedError

    def check(self, data: bytes) -> None:
        """Judges one case; AssertionError, or whatever else is raised, is a finding."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends what the target has running."""

    def corpus(self) -> dict[str, bytes]:
        """The kept inputs by name."""
        return {path.name: path.read_bytes() for path in sorted((CORPUS / self.name).glob("*.bin"))}


def load_target(name: str) -> Target:
    target: Target = import_module(f"tests.fuzz.targets.{name}").make()
    return target
