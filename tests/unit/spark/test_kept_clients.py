"""Clients that a worker process keeps: one task at a time has one, and none is left open behind another."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kspark.kept_clients import KeptClients

SETTINGS = {"client.id": "me", "bootstrap.servers": "a:1"}


class Client:
    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = settings
        self.is_closed = False

    def close(self, timeout: float) -> None:
        self.is_closed = True


@pytest.fixture
def kept() -> KeptClients[Any]:
    return KeptClients(cast("Any", Client))


def test_the_next_task_has_the_same(kept: KeptClients[Any]) -> None:
    with kept.lent(SETTINGS) as first:
        pass
    with kept.lent(dict(reversed(SETTINGS.items()))) as second:
        assert second is first
    with kept.lent({**SETTINGS, "client.id": "other"}) as third:
        assert third is not first
    kept.close()
    assert first.is_closed
    assert third.is_closed


def test_two_tasks_at_once_have_one_each_and_one_is_kept(kept: KeptClients[Any]) -> None:
    with kept.lent(SETTINGS) as first, kept.lent(SETTINGS) as second:
        assert first is not second
    assert [first.is_closed, second.is_closed] == [False, True]


def test_what_a_task_failed_with_is_not_kept(kept: KeptClients[Any]) -> None:
    with pytest.raises(KeyboardInterrupt), kept.lent(SETTINGS) as failed:
        raise KeyboardInterrupt
    assert failed.is_closed
    with kept.lent(SETTINGS) as next_one:
        assert next_one is not failed
