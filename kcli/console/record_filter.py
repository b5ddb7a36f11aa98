"""`--filter`: which records are printed.

    FIELD OPERATOR VALUE       key, value, header.NAME      =  !=  ~ (a pattern matches somewhere)  !~
                               offset, partition, timestamp =  !=  <  <=  >  >=
    FIELD, !FIELD              key, value, header.NAME      not null, or null

For a repeated header, any value may match; for != and !~, no value may match. Several filters must all match.
"""

from __future__ import annotations

import operator
import re

from kcli.failures import UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcore.client.consumer.consumer_record import ConsumerRecord

    Filter = Callable[[ConsumerRecord], bool]

FORM = re.compile(
    r"(?P<field>key|value|offset|partition|timestamp|header\.(?P<header>[^=!~<>]+?))\s*"
    r"(?P<operator>!=|!~|<=|>=|=|~|<|>)(?P<operand>.*)",
    re.DOTALL,
)
PRESENCE = re.compile(r"(?P<negation>!?)(?P<field>key|value|header\.(?P<header>[^=!~<>]+))")
NUMBERS = ("offset", "partition", "timestamp")
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EXAMPLES = "as in key=abc, key~^ab, '!key', header.trace=1, offset>=100"


def filter_of(expressions: Sequence[str]) -> Filter | None:
    """One predicate for all expressions; None without expressions. Raises UsageFailure for an invalid expression."""
    filters = [_parse(expression) for expression in expressions]
    if not filters:
        return None
    return filters[0] if len(filters) == 1 else lambda record: all(matches(record) for matches in filters)


def _parse(expression: str) -> Filter:
    found = PRESENCE.fullmatch(expression)
    if found is not None:
        is_wanted = not found["negation"]
        contents = _contents(found["field"], found["header"])
        return lambda record: any(content is not None for content in contents(record)) is is_wanted
    found = FORM.fullmatch(expression)
    if found is None:
        raise UsageFailure(f"--filter {expression!r}: not FIELD, !FIELD or FIELD OPERATOR VALUE, {EXAMPLES}")
    if found["field"] in NUMBERS:
        return _comparison(expression, found["field"], found["operator"], found["operand"].strip())
    return _match(expression, _contents(found["field"], found["header"]), found["operator"], found["operand"])


def _comparison(expression: str, field: str, sign: str, operand: str) -> Filter:
    try:
        compare, number, value = COMPARISONS[sign], int(operand), operator.attrgetter(field)
    except (KeyError, ValueError):
        signs = " ".join(COMPARISONS)
        raise UsageFailure(f"--filter {expression!r}: compare {field} by {signs} with a number") from None
    return lambda record: compare(value(record), number)


def _match(
    expression: str, contents: Callable[[ConsumerRecord], Sequence[bytes | None]], sign: str, operand: str
) -> Filter:
    wanted = operand.encode("utf-8", "surrogateescape")
    is_wanted = not sign.startswith("!")
    if sign in ("=", "!="):
        return lambda record: (wanted in contents(record)) is is_wanted
    if sign not in ("~", "!~"):
        raise UsageFailure(f"--filter {expression!r}: compare keys, values and headers by = != ~ or !~")
    try:
        search = re.compile(wanted).search
    except re.error as error:
        raise UsageFailure(f"--filter {expression!r}: invalid regular expression ({error})") from None
    return lambda record: (
        any(content is not None and search(content) is not None for content in contents(record)) is is_wanted
    )


def _contents(field: str, header: str | None) -> Callable[[ConsumerRecord], Sequence[bytes | None]]:
    if header is not None:
        return lambda record: [value for name, value in record.headers if name == header]
    if field == "key":
        return lambda record: (record.key,)
    return lambda record: (record.value,)
