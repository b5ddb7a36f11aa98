"""Patterns: what RE2/J 1.8, which Kafka uses, makes of them, and that none takes long."""

from __future__ import annotations

import pytest

from kcore.coordinator.group.consumer.re2.limits import USUAL_LIMITS, Limits
from kcore.coordinator.group.consumer.re2.matcher import Matcher
from kcore.coordinator.group.consumer.re2.parser import PatternError, parse

NAMES = ["a", "ab", "abc", "A", "a.b", "a-b_1", "orders", "orders.eu-1", "Orders", "b", "bb", "o1"]


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("orders", ["orders"]),
        ("orders.*", ["orders", "orders.eu-1"]),
        ("(?i)ORDERS", ["orders", "Orders"]),
        ("(?i:o)rders", ["orders", "Orders"]),
        (r"a\.b", ["a.b"]),
        ("a.b", ["a.b"]),
        (r"\w+", ["a", "ab", "abc", "A", "orders", "Orders", "b", "bb", "o1"]),
        (r"[^\w]|b{2}", ["bb"]),
        ("a|b+", ["a", "b", "bb"]),
        ("(?:ab?c?)", ["a", "ab", "abc"]),
        ("(?P<x>a)(?P<y>b)", ["ab"]),
        (r"^a$", ["a"]),
        (r"\Aa\z", ["a"]),
        (r"a\b.*", ["a", "a.b", "a-b_1"]),
        (r"a\B.*", ["ab", "abc"]),
        (r"\pL\d", ["o1"]),
        (r"\p{Lu}.*", ["A", "Orders"]),
        (r"\P{Ll}.*", ["A", "Orders"]),
        (r"\p{Greek}.*", []),
        ("[[:alpha:]][[:digit:]]", ["o1"]),
        (r"\Qa.b\E", ["a.b"]),
        (r"\x61\142", ["ab"]),
        (r"\x{61}", ["a"]),
        ("[]a]", ["a"]),
        ("[a-b]+?", ["a", "ab", "b", "bb"]),
        ("a{,2}", []),
        ("", []),
        ("é*a", ["a"]),
    ],
)
def test_matches(pattern: str, matching: list[str]) -> None:
    matcher = Matcher(parse(pattern))
    assert [name for name in NAMES if matcher.matches(name)] == matching


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a(b", "missing closing )"),
        ("a)", "unexpected )"),
        ("a[b", "missing closing ]"),
        ("*a", "missing argument to repetition operator"),
        ("a**", "invalid nested repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("a{3,1}", "invalid repeat count"),
        (r"(a)\1", "invalid escape sequence"),
        (r"a\Z", "invalid escape sequence"),
        ("a\\", "trailing backslash at end of expression"),
        ("[b-a]", "invalid character class range"),
        (r"\p{Klingon}", "invalid character class range"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(?<=a)", "invalid named capture"),
        ("(?P<a-b>c)", "invalid named capture"),
        ("(" * (USUAL_LIMITS.max_nesting + 2), "expression nests too deeply"),
    ],
)
def test_what_is_no_pattern_is_refused_in_words(pattern: str, words: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse(pattern)
    assert str(caught.value) == words


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+b", "(a?){60}a{60}", "(.*)*(.*)*(.*)*x", "([a-z]+)*[0-9]"])
def test_no_pattern_backtracks(pattern: str) -> None:
    """Each of these takes longer than the universe lasts where choices are tried one after the other."""
    assert not Matcher(parse(pattern)).matches("a" * 249 + "-")


def test_what_would_be_too_large_or_too_much_work_is_refused() -> None:
    with pytest.raises(PatternError, match="expression is too large"):
        Matcher(parse("((a{1000}){1000}){1000}"))
    matcher = Matcher(parse("(a|b)*a(a|b){900}"), Limits(max_steps=20_000))
    with pytest.raises(PatternError, match="too much work"):
        matcher.matches("ab" * 120)


def test_bounds_are_as_configured() -> None:
    nested = "(" * 150 + "a" + ")" * 150
    assert Matcher(parse(nested, Limits(max_nesting=150))).matches("a")
    with pytest.raises(PatternError, match="nests too deeply"):
        parse("((a))", Limits(max_nesting=1))
    with pytest.raises(PatternError, match="expression is too large"):
        Matcher(parse("abc"), Limits(max_instructions=3))
    assert Matcher(parse("abc"), Limits(max_instructions=4)).matches("abc")
