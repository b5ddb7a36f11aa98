"""What a check raises."""

from __future__ import annotations

# A check that finds a thousand records missing names the first ones.
SHOWN = 5


class InvariantViolation(AssertionError):
    """`number` is the invariant's in the design."""

    def __init__(self, number: int, evidence: str) -> None:
        super().__init__(f"invariant {number}: {evidence}")
        self.number = number
