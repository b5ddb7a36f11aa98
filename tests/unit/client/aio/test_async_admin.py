"""AsyncAdmin: Admin's methods awaited, and their types."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

import kcore.client.aio
from kcore.client.admin.admin import Admin
from kcore.client.admin.results import failures, only
from kcore.client.admin.topics import NewTopic
from kcore.client.aio.admin import AsyncAdmin
from kcore.client.aio.admin_stub import methods, stub
from kcore.client.errors import ClientTimeout
from kcore.protocol import apis
from kcore.testing import EmbeddedBroker
from tests.unit.client.peer import ScriptedPeer


def test_the_types_are_current() -> None:
    committed = (Path(kcore.client.aio.__file__).parent / "admin.pyi").read_text()
    assert stub() == committed, "run `python -m kcore.client.aio.admin_stub >kcore/client/aio/admin.pyi`"


def test_every_method_of_admin_is_there() -> None:
    own = {"close", "over"}
    public = {name for name, _ in inspect.getmembers(Admin, inspect.isfunction) if not name.startswith("_")} - own
    assert {name for name, _ in methods()} == public


def test_calls_are_awaited_and_answered_like_admins() -> None:
    async def administer(server: str) -> None:
        async with AsyncAdmin(bootstrap_servers=server) as admin:
            names = [f"t{number}" for number in range(5)]
            made = await asyncio.gather(*(admin.create_topics([NewTopic(name, 2)]) for name in names))
            assert all(failures(each) == {} for each in made)
            assert [topic.name for topic in await admin.list_topics()] == names
            assert len(only(await admin.describe_topics(["t3"])).partitions) == 2
            with pytest.raises(AttributeError):
                _ = admin.no_such_method  # type: ignore[attr-defined]

    with EmbeddedBroker() as broker:
        asyncio.run(administer(broker.bootstrap_servers))
    assert not any(thread.name.startswith("kcli-admin") for thread in threading.enumerate())


def test_the_loop_goes_on_while_a_broker_is_silent() -> None:
    async def wait_in_vain(server: str) -> int:
        settings: dict[str, Any] = {"request.timeout.ms": 300, "default.api.timeout.ms": 300}
        turns = 0
        async with AsyncAdmin({"bootstrap.servers": server, **settings}) as admin:
            listing = asyncio.ensure_future(admin.list_topics())
            while not listing.done():
                turns += 1
                await asyncio.sleep(0)
            with pytest.raises(ClientTimeout):
                listing.result()
        return turns

    with ScriptedPeer({apis.METADATA.key: lambda version, request: None}) as peer:
        assert asyncio.run(wait_in_vain(peer.address)) > 1
