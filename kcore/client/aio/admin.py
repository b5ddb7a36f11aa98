"""`AsyncAdmin`: `Admin` for asyncio. It has Admin's methods as coroutines with the same arguments and results.

    async with AsyncAdmin(bootstrap_servers="localhost:9092") as admin:
        topics = await admin.list_topics()

Concurrency: one thread runs the calls one after another, so the event loop never waits for a broker. A call whose task
is cancelled is still executed; its result is unknown, as after a timeout. `admin.pyi` has the methods' types.
`admin_stub.py` writes it.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from kcore.client.admin.admin import Admin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import Any, Self

    from kcore.client.config.client_config import ClientConfig


class AsyncAdmin:
    """`config` is an AdminConfig, or Kafka's properties by name. Keywords are the same names with underscores."""

    def __init__(self, config: ClientConfig | Mapping[str, Any] | None = None, **keywords: Any) -> None:
        self._admin = Admin(config, **keywords)
        self._thread = ThreadPoolExecutor(1, "kcli-admin")

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._run, getattr(self._admin, name))

    async def _run(self, call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(call, *arguments, **keywords))

    async def close(self) -> None:
        """Close the connections after the calls that have begun."""
        await self._run(self._admin.close)
        self._thread.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
