"""What one pattern may cost, since any member of a group may send one."""

from __future__ import annotations


class Limits:
    """`max_nesting` parentheses in each other, a program of `max_instructions`, and `max_steps` of matching in all.

    The last is two seconds or so: looks at an instruction that nothing was remembered of, for all names together.
    """

    __slots__ = ("max_instructions", "max_nesting", "max_steps")

    def __init__(self, max_instructions: int = 20_000, max_steps: int = 2_000_000, max_nesting: int = 100) -> None:
        self.max_instructions = max_instructions
        self.max_steps = max_steps
        self.max_nesting = max_nesting


USUAL_LIMITS = Limits()
