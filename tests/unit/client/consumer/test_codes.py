"""The names that a consumer goes by are those of the one table of errors."""

from __future__ import annotations

from kcore.client.consumer import codes
from kcore.errors import TABLE


def test_codes_are_those_of_the_table() -> None:
    table = {name: code for code, name, *_ in TABLE}
    ours = {name: value for name, value in vars(codes).items() if name.isupper() and isinstance(value, int)}
    assert ours == {name: table[name] for name in ours}
