"""Reads a pattern in RE2's syntax (github.com/google/re2/wiki/Syntax) into a tree; errors in the words of RE2/J.

    pattern    = branch { "|" branch }              branch = { repeated }
    repeated   = atom { ("*" | "+" | "?" | "{" n [ "," [ m ] ] "}") [ "?" ] }
    atom       = character | "." | class | "(" [ "?" flags ":" | "?P<" name ">" ] pattern ")" | assertion | escape

Only whether a whole name matches is asked for: which group captured what, and whether a repetition is lazy, is read and
forgotten. Characters that no topic's name can have match nothing.
"""

from __future__ import annotations

from kcore.coordinator.group.consumer.re2.character_classes import (
    ALL,
    NONE,
    PERL,
    POSIX,
    folded,
    unicode_class,
)
from kcore.coordinator.group.consumer.re2.limits import USUAL_LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from kcore.coordinator.group.consumer.re2.limits import Limits

    Characters: TypeAlias = frozenset[str]

MAX_REPEAT = 1000
MAX_CODE_POINT = 0x10FFFF

MISSING_PAREN = "missing closing )"
UNEXPECTED_PAREN = "unexpected )"
MISSING_BRACKET = "missing closing ]"
MISSING_ARGUMENT = "missing argument to repetition operator"
NESTED_REPEAT = "invalid nested repetition operator"
REPEAT_COUNT = "invalid repeat count"
BAD_ESCAPE = "invalid escape sequence"
TRAILING_BACKSLASH = "trailing backslash at end of expression"
BAD_CLASS_RANGE = "invalid character class range"
BAD_PERL = "invalid or unsupported Perl syntax"
BAD_NAME = "invalid named capture"
DUPLICATE_NAME = "duplicate capture group name"
TOO_DEEP = "expression nests too deeply"

BEGIN, END, WORD_BOUNDARY, NO_WORD_BOUNDARY = "begin", "end", "boundary", "no boundary"
ASSERTIONS = {"A": BEGIN, "z": END, "b": WORD_BOUNDARY, "B": NO_WORD_BOUNDARY}
CONTROLS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
UNBOUNDED = -1


class PatternError(ValueError):
    """Not a pattern of RE2; the text says why."""


class One:
    """One character out of a set."""

    __slots__ = ("characters",)

    def __init__(self, characters: Characters) -> None:
        self.characters = characters


class Assertion:
    """A place: BEGIN, END, WORD_BOUNDARY or NO_WORD_BOUNDARY."""

    __slots__ = ("place",)

    def __init__(self, place: str) -> None:
        self.place = place


class Sequence:
    """One after the other; an empty one matches nothing at all, everywhere."""

    __slots__ = ("items",)

    def __init__(self, items: list[Node]) -> None:
        self.items = items


class Choice:
    """Any of these."""

    __slots__ = ("items",)

    def __init__(self, items: list[Node]) -> None:
        self.items = items


class Repeat:
    """`item`, from `low` to `high` times; `high` is UNBOUNDED for as often as it likes."""

    __slots__ = ("high", "item", "low")

    def __init__(self, item: Node, low: int, high: int) -> None:
        self.item = item
        self.low = low
        self.high = high


if TYPE_CHECKING:
    Node: TypeAlias = One | Assertion | Sequence | Choice | Repeat


def parse(pattern: str, limits: Limits = USUAL_LIMITS) -> Node:
    """The tree of a pattern. Raises PatternError."""
    parser = Parser(pattern, limits.max_nesting)
    node = parser.choice(0)
    if parser.position < len(pattern):
        raise PatternError(UNEXPECTED_PAREN)
    return node


class Parser:
    """A reader with one place in the pattern; `_folds` is the flag i where it is."""

    def __init__(self, pattern: str, max_nesting: int) -> None:
        self._pattern = pattern
        self._max_nesting = max_nesting
        self.position = 0
        self._folds = False
        self._names: set[str] = set()

    def choice(self, depth: int) -> Node:
        """Branches, up to a closing parenthesis or the end."""
        if depth > self._max_nesting:
            raise PatternError(TOO_DEEP)
        branches = [self._branch(depth)]
        while self._accept("|"):
            branches.append(self._branch(depth))
        return branches[0] if len(branches) == 1 else Choice(branches)

    def _branch(self, depth: int) -> Node:
        items: list[Node] = []
        while self.position < len(self._pattern) and self._peek() not in "|)":
            if self._accept("\\Q"):
                items += [self._one(character) for character in self._until("\\E")]
            else:
                node = self._atom(depth)
                if node is not None:
                    items.append(node)
            self._repetitions(items)
        return items[0] if len(items) == 1 else Sequence(items)

    def _repetitions(self, items: list[Node]) -> None:
        """Applies the operators that follow to the last item."""
        times = 0
        while self.position < len(self._pattern):
            bounds = self._repeat_operator()
            if bounds is None:
                return
            times += 1
            if times > 1:
                raise PatternError(NESTED_REPEAT)
            if not items:
                raise PatternError(MISSING_ARGUMENT)
            items[-1] = Repeat(items[-1], *bounds)

    def _repeat_operator(self) -> tuple[int, int] | None:
        character = self._peek()
        bounds = {"*": (0, UNBOUNDED), "+": (1, UNBOUNDED), "?": (0, 1)}.get(character)
        if bounds is not None:
            self.position += 1
        elif character == "{":
            bounds = self._counted()
        if bounds is not None:
            self._accept("?")
        return bounds

    def _counted(self) -> tuple[int, int] | None:
        """`{n}`, `{n,}` or `{n,m}`; anything else is a plain brace."""
        end = self._pattern.find("}", self.position)
        low_text, comma, high_text = self._pattern[self.position + 1 : max(end, 0)].partition(",")
        if end < 0 or not is_number(low_text) or (high_text and not is_number(high_text)):
            return None
        low = int(low_text[:5])
        high = low if not comma else int(high_text[:5]) if high_text else UNBOUNDED
        if low > MAX_REPEAT or high > MAX_REPEAT or (high != UNBOUNDED and low > high):
            raise PatternError(REPEAT_COUNT)
        self.position = end + 1
        return low, high

    def _atom(self, depth: int) -> Node | None:
        character = self._take()
        if character in "*+?" or (character == "{" and self._is_counted_before()):
            raise PatternError(MISSING_ARGUMENT)
        if character == "(":
            return self._group(depth)
        if character == "[":
            return One(self._class())
        if character == ".":
            return One(ALL)
        if character == "^":
            return Assertion(BEGIN)
        if character == "$":
            return Assertion(END)
        if character == "\\":
            return self._escape()
        return self._one(character)

    def _is_counted_before(self) -> bool:
        self.position -= 1
        is_counted = self._counted() is not None
        if not is_counted:
            self.position += 1
        return is_counted

    def _one(self, character: str) -> Node:
        return One(folded(character) if self._folds else ALL & {character})

    # --- groups -----------------------------------------------------------------------------------------------------

    def _group(self, depth: int) -> Node | None:
        """None for flags that hold from here on."""
        folds = self._folds
        if self._accept("?"):
            if self._accept("P<") or self._accept("<"):
                self._name()
            elif not self._flags():
                return None
        node = self.choice(depth + 1)
        if not self._accept(")"):
            raise PatternError(MISSING_PAREN)
        self._folds = folds
        return node

    def _name(self) -> None:
        end = self._pattern.find(">", self.position)
        name = self._pattern[self.position : end] if end > 0 else ""
        if not name or not all(character.isascii() and (character.isalnum() or character == "_") for character in name):
            raise PatternError(BAD_NAME)
        if name in self._names:
            raise PatternError(DUPLICATE_NAME)
        self._names.add(name)
        self.position = end + 1

    def _flags(self) -> bool:
        """Whether a group follows the flags. Of i, m, s and U only i matters to whether a name matches."""
        sets, has_flag = True, False
        while self.position < len(self._pattern):
            character = self._take()
            if character in "imsU":
                has_flag = True
                if character == "i":
                    self._folds = sets
            elif character == "-" and sets:
                sets, has_flag = False, False
            elif character in ":)":
                if not sets and not has_flag:
                    break
                return character == ":"
            else:
                break
        else:
            raise PatternError(MISSING_PAREN)
        raise PatternError(BAD_PERL)

    # --- escapes and classes ----------------------------------------------------------------------------------------

    def _escape(self) -> Node:
        if self.position >= len(self._pattern):
            raise PatternError(TRAILING_BACKSLASH)
        character = self._peek()
        if character in ASSERTIONS:
            self.position += 1
            return Assertion(ASSERTIONS[character])
        characters = self._escaped_class()
        return self._one(self._escaped_character()) if characters is None else One(characters)

    def _escaped_class(self) -> Characters | None:
        r"""`\d` and its like, `\pL` and `\p{Greek}`; None for another escape."""
        character = self._peek()
        if character in PERL:
            self.position += 1
            return PERL[character]
        if character not in "pP":
            return None
        self.position += 1
        negated = character == "P"
        name = self._take() if self.position < len(self._pattern) else ""
        if name == "{":
            name = self._until("}", BAD_CLASS_RANGE)
            if name.startswith("^"):
                name, negated = name[1:], not negated
        found = unicode_class(name)
        if found is None:
            raise PatternError(BAD_CLASS_RANGE)
        return ALL - found if negated else found

    def _escaped_character(self) -> str:
        character = self._take()
        if character in CONTROLS:
            return CONTROLS[character]
        if character == "x":
            return self._hexadecimal()
        if character in "01234567":
            return self._octal(character)
        if not (character.isascii() and character.isalnum()):
            return character
        raise PatternError(BAD_ESCAPE)

    def _octal(self, first: str) -> str:
        """`\\0` and up to two more digits; another digit begins one only if a second follows, else it refers back."""
        digits = first
        while len(digits) < 3 and self.position < len(self._pattern) and self._peek() in "01234567":
            digits += self._take()
        if first != "0" and len(digits) == 1:
            raise PatternError(BAD_ESCAPE)
        return chr(int(digits, 8))

    def _hexadecimal(self) -> str:
        if self._accept("{"):
            digits = self._until("}", BAD_ESCAPE)
        else:
            digits = self._pattern[self.position : self.position + 2]
            self.position += 2
            if len(digits) < 2:
                raise PatternError(BAD_ESCAPE)
        if not digits or len(digits) > 8 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
            raise PatternError(BAD_ESCAPE)
        value = int(digits, 16)
        if value > MAX_CODE_POINT:
            raise PatternError(BAD_ESCAPE)
        return chr(value)

    def _class(self) -> Characters:
        negated = self._accept("^")
        found = NONE
        is_first = True
        while is_first or self._peek_or_fail() != "]":
            is_first = False
            if self._peek_or_fail() == "[" and self._pattern.startswith("[:", self.position):
                named = self._posix_class()
                if named is not None:
                    found |= named
                    continue
            found |= self._class_item()
        self.position += 1
        return ALL - found if negated else found

    def _posix_class(self) -> Characters | None:
        end = self._pattern.find(":]", self.position)
        if end < 0:
            return None
        name = self._pattern[self.position + 2 : end]
        negated = name.startswith("^")
        characters = POSIX.get(name.removeprefix("^"))
        if characters is None:
            raise PatternError(BAD_CLASS_RANGE)
        self.position = end + 2
        return ALL - characters if negated else characters

    def _class_item(self) -> Characters:
        if self._peek() == "\\" and self.position + 1 < len(self._pattern):
            self.position += 1
            characters = self._escaped_class()
            if characters is not None:
                return characters
            self.position -= 1
        low = self._class_character()
        high = low
        if self._pattern.startswith("-", self.position) and not self._pattern.startswith("-]", self.position):
            self.position += 1
            high = self._class_character()
            if high < low:
                raise PatternError(BAD_CLASS_RANGE)
        if self._folds:
            return frozenset(name for name in ALL if any(low <= form <= high for form in (name, name.swapcase())))
        return frozenset(character for character in ALL if low <= character <= high)

    def _class_character(self) -> str:
        self._peek_or_fail()
        character = self._take()
        if character != "\\":
            return character
        if self.position >= len(self._pattern):
            raise PatternError(TRAILING_BACKSLASH)
        return self._escaped_character()

    # --- the pattern ------------------------------------------------------------------------------------------------

    def _peek(self) -> str:
        return self._pattern[self.position]

    def _peek_or_fail(self) -> str:
        if self.position >= len(self._pattern):
            raise PatternError(MISSING_BRACKET)
        return self._pattern[self.position]

    def _take(self) -> str:
        character = self._pattern[self.position]
        self.position += 1
        return character

    def _accept(self, text: str) -> bool:
        if not self._pattern.startswith(text, self.position):
            return False
        self.position += len(text)
        return True

    def _until(self, end: str, error: str = "") -> str:
        """What comes before `end`, which is passed; without it the rest, or an error."""
        place = self._pattern.find(end, self.position)
        if place < 0:
            if error:
                raise PatternError(error)
            place = len(self._pattern)
        text = self._pattern[self.position : place]
        self.position = place + len(end)
        return text


def is_number(text: str) -> bool:
    """Decimal digits without a leading zero."""
    return text.isascii() and text.isdigit() and (text == "0" or not text.startswith("0"))
