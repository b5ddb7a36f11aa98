"""Matches whole names against a parsed pattern: Thompson's automaton, its sets of states remembered as they turn up.

A step looks at each instruction once, so that a name costs at most its length times the program, whatever the pattern.
Both have bounds (`Limits`): a program that would be too large is refused, and so is what takes too many steps that
nothing was remembered of.
"""

from __future__ import annotations

from kcore.coordinator.group.consumer.re2.character_classes import WORD
from kcore.coordinator.group.consumer.re2.limits import USUAL_LIMITS
from kcore.coordinator.group.consumer.re2.parser import (
    BEGIN,
    END,
    UNBOUNDED,
    WORD_BOUNDARY,
    Assertion,
    Choice,
    One,
    PatternError,
    Repeat,
    Sequence,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from kcore.coordinator.group.consumer.re2.limits import Limits
    from kcore.coordinator.group.consumer.re2.parser import Node

    # Where an automaton is before a character, the character before that, and the character itself ("" at the ends).
    Step: TypeAlias = tuple[frozenset[int], bool, str]

MAX_REMEMBERED = 20_000

TAKE, SPLIT, CHECK, DONE = range(4)


class Matcher:
    """The automaton of one pattern. Not for several threads at once."""

    def __init__(self, node: Node, limits: Limits = USUAL_LIMITS) -> None:
        self._max_instructions = limits.max_instructions
        self._kinds: list[int] = []
        self._operands: list[frozenset[str] | str | tuple[int, ...]] = []
        self._compile(node)
        self._emit(DONE, ())
        self._known: dict[Step, frozenset[int] | bool] = {}
        self._steps_left = limits.max_steps

    def matches(self, name: str) -> bool:
        """Whether the whole name matches. Raises PatternError when the pattern has taken too much work."""
        states = frozenset((0,))
        before = ""
        for character in name:
            following = self._follow(states, before, character)
            if not following:
                return False
            assert isinstance(following, frozenset)
            states, before = following, character
        return bool(self._follow(states, before, ""))

    def _follow(self, states: frozenset[int], before: str, character: str) -> frozenset[int] | bool:
        """The states behind a character; at the end of a name whether the pattern is done."""
        # Of what came before only counts whether it was nothing, and whether it was a character of a word.
        key = (states, before in WORD, character if before else f"^{character}")
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            known = self._known[key] = self._step(states, before, character)
        return known

    def _step(self, states: frozenset[int], before: str, character: str) -> frozenset[int] | bool:
        reached: set[int] = set()
        following: set[int] = set()
        waiting = list(states)
        while waiting:
            place = waiting.pop()
            if place in reached:
                continue
            reached.add(place)
            kind, operand = self._kinds[place], self._operands[place]
            if kind == SPLIT:
                waiting += operand  # type: ignore[arg-type]
            elif kind == CHECK:
                if holds(operand, before, character):  # type: ignore[arg-type]
                    waiting.append(place + 1)
            elif kind == TAKE:
                if character in operand:
                    following.add(place + 1)
            elif not character:
                return True
        self._steps_left -= len(reached)
        if self._steps_left < 0:
            raise PatternError("it takes too much work to match")
        return frozenset(following) if character else False

    # --- the program ------------------------------------------------------------------------------------------------

    def _emit(self, kind: int, operand: frozenset[str] | str | tuple[int, ...]) -> int:
        if len(self._kinds) >= self._max_instructions:
            raise PatternError("expression is too large")
        self._kinds.append(kind)
        self._operands.append(operand)
        return len(self._kinds) - 1

    def _compile(self, node: Node) -> None:
        if isinstance(node, One):
            self._emit(TAKE, node.characters)
        elif isinstance(node, Assertion):
            self._emit(CHECK, node.place)
        elif isinstance(node, Sequence):
            for item in node.items:
                self._compile(item)
        elif isinstance(node, Choice):
            self._compile_choice(node)
        else:
            self._compile_repeat(node)

    def _compile_choice(self, node: Choice) -> None:
        start = self._emit(SPLIT, ())
        starts, ends = [], []
        for item in node.items:
            starts.append(len(self._kinds))
            self._compile(item)
            ends.append(self._emit(SPLIT, ()))
        self._operands[start] = tuple(starts)
        for place in ends:
            self._operands[place] = (len(self._kinds),)

    def _compile_repeat(self, node: Repeat) -> None:
        for _ in range(node.low):
            self._compile(node.item)
        if node.high == UNBOUNDED:
            start = self._emit(SPLIT, ())
            self._compile(node.item)
            self._emit(SPLIT, (start,))
            self._operands[start] = (start + 1, len(self._kinds))
            return
        exits = []
        for _ in range(node.high - node.low):
            exits.append(self._emit(SPLIT, ()))
            self._compile(node.item)
        for place in exits:
            self._operands[place] = (place + 1, len(self._kinds))


def holds(place: str, before: str, after: str) -> bool:
    """Whether an assertion holds between two characters, "" being the end of the name."""
    if place == BEGIN:
        return not before
    if place == END:
        return not after
    is_boundary = (before in WORD) != (after in WORD)
    return is_boundary if place == WORD_BOUNDARY else not is_boundary
