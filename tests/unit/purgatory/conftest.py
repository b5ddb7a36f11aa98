"""The native probe, and the rule that every test leaves no operation behind."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from kcore.purgatory.delayed_operation import live_operations
from tests.native import build


@pytest.fixture(scope="session")
def probes() -> ModuleType:
    return build.load("purgatory_probe")


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    before = live_operations()
    yield
    assert live_operations() == before
