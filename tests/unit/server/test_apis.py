"""The table of APIs against the codec and the handlers behind it."""

from __future__ import annotations

import pytest

from kcore.protocol import apis
from kcore.server.apis import TABLE, ApiEntry, advertised

PRODUCE = 0


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry.module_name)
def test_an_api_that_is_served_can_be_read_and_answered(entry: ApiEntry) -> None:
    api = apis.BY_KEY[entry.key]
    assert entry.module_name == "".join(f"_{c.lower()}" if c.isupper() else c for c in api.name).lstrip("_")
    assert api.min_version <= entry.min_version <= entry.max_version <= api.max_version
    assert callable(entry.handler.handle)
    assert callable(entry.handler.error_response)


def test_only_produce_is_advertised_below_what_is_served() -> None:
    rows = {row["api_key"]: row for row in advertised()}
    assert len(rows) == len(TABLE)
    for entry in TABLE:
        assert rows[entry.key]["max_version"] == entry.max_version
        assert rows[entry.key]["min_version"] == (0 if entry.key == PRODUCE else entry.min_version)
    assert not TABLE[0].serves(2)
    assert TABLE[0].serves(3)


def test_the_table_is_sorted_by_key() -> None:
    keys = [entry.key for entry in TABLE]
    assert keys == sorted(set(keys))
