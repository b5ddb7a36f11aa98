"""Processes in which clients of other makes run, several at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

CLIENT_PROCESSES = 5


@pytest.fixture(scope="session")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Spawned, not forked: the clients' libraries have threads."""
    with ProcessPoolExecutor(CLIENT_PROCESSES, multiprocessing.get_context("spawn")) as pool:
        yield pool
