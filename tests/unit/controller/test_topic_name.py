"""Topic names: the rules of Kafka's `Topic` class and its words."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.controller.topic_name import TopicNames, validate_topic_name


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", "__consumer_offsets", "x" * 249])
def test_legal_names(name: str) -> None:
    validate_topic_name(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Topic name is invalid: the empty string is not allowed"),
        (".", "Topic name is invalid: '.' is not allowed"),
        ("..", "Topic name is invalid: '..' is not allowed"),
        (
            "x" * 250,
            f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed length 249",
        ),
        *(
            (
                name,
                f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, "
                "'.', '_' and '-'",
            )
            for name in ("a b", "a/b", "ä", "a\n", "a\0", "a:b", "٣")
        ),
    ],
)
def test_illegal_names(name: str, message: str) -> None:
    with pytest.raises(errors.InvalidTopicError) as caught:
        validate_topic_name(name)
    assert caught.value.message == message


def test_names_that_differ_only_in_dot_and_underscore_collide() -> None:
    with pytest.raises(errors.InvalidTopicError, match=r"^Topic 'a\.b_c' collides with existing topic: a_b\.c$"):
        TopicNames(["other", "a_b.c"]).check_collision("a.b_c")


def test_a_name_does_not_collide_with_itself_or_with_others() -> None:
    TopicNames(["a.b", "a-b", "ab", "a.b.c"]).check_collision("a.b")
    TopicNames(["plain"]).check_collision("plain")


def test_a_name_collides_with_those_that_the_same_request_adds() -> None:
    names = TopicNames(["x_y"])
    names.check("a.b")
    names.add("a.b")
    for taken in ("a_b", "x.y"):
        with pytest.raises(errors.InvalidTopicError):
            names.check(taken)
    with pytest.raises(errors.TopicAlreadyExistsError):
        names.check("a.b")
