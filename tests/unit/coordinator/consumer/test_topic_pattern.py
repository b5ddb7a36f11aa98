"""Patterns match and are refused as by RE2/J 1.8, which Kafka uses, and no pattern takes long."""

from __future__ import annotations

import sys

import pytest

from kcore.coordinator.group.consumer.topic_pattern import PatternError, PatternLimits, TopicPattern

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
        (r"(?i)\p{Lu}", ["a", "A", "b"]),
        ("(" * 999 + "a" + ")" * 999, ["a"]),
        ("|".join(f"orders.{region}-1" for region in ["eu", *map(str, range(2000))]), ["orders.eu-1"]),
    ],
)
def test_matches(pattern: str, matching: list[str]) -> None:
    assert TopicPattern(pattern).matching(NAMES) == set(matching)


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
        ("(?<=a)", "invalid or unsupported Perl syntax"),
        ("(?P<a-b>c)", "invalid named capture"),
    ],
)
def test_invalid_patterns_are_refused_in_the_words_of_re2j(pattern: str, words: str) -> None:
    with pytest.raises(PatternError) as caught:
        TopicPattern(pattern)
    assert str(caught.value) == words


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|aa)+b", "(a?){60}a{60}", "(.*)*(.*)*(.*)*x", "([a-z]+)*[0-9]"])
def test_no_pattern_backtracks(pattern: str) -> None:
    """A matcher that tries one choice after the other would not finish any of these."""
    assert not TopicPattern(pattern).matching(["a" * 249 + "-"])


@pytest.mark.parametrize("pattern", [r"\pL{1000}", "((a{100}){10}){10}"])
def test_patterns_beyond_the_limits_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        TopicPattern(pattern)


def test_limits_are_as_configured() -> None:
    small = PatternLimits(max_memory_bytes=65_536)
    with pytest.raises(PatternError, match="expression is too large"):
        TopicPattern("[a-z]{1,1000}.{1000}", small)
    assert TopicPattern("[a-z]{1,249}", small).matching(["abc", "-"]) == {"abc"}
    pattern = TopicPattern("((.?){30}){30}x", PatternLimits(max_memory_bytes=1 << 20, max_match_ms=20))
    with pytest.raises(PatternError, match="too much work"):
        pattern.matching("ab" * 120 + str(number) for number in range(10_000))


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(PatternError, match="invalid UTF-8"):
        TopicPattern("a\udc80")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(PatternError, match="pip install google-re2"):
        TopicPattern("a")
