"""`interceptor.classes`: objects of the application that see records and their results (KIP-42).

Only the methods that an interceptor has are called. Its exceptions are logged; the next interceptor then gets the last
successful result. Concurrency: methods run on the thread that calls the chain.
"""

from __future__ import annotations

from kcore.config.definition import ConfigException
from kcore.logger import get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    Seen = TypeVar("Seen")

LOG = get_logger("kcore.client.interceptors")


class InterceptorChain:
    """Interceptors in the order of the configuration: objects, or classes, which are instantiated here."""

    def __init__(self, given: Sequence[Any]) -> None:
        for each in given:
            if isinstance(each, str):
                raise ConfigException(
                    f"Invalid value {each} for configuration interceptor.classes: Use Python classes or objects"
                )
        self._chain = [each() if isinstance(each, type) else each for each in given]

    def __bool__(self) -> bool:
        return bool(self._chain)

    def close(self) -> None:
        self._tell("close")

    def _pass(self, method: str, seen: Seen) -> Seen:
        """Pass something through all interceptors. Each gets the previous one's result; None leaves it unchanged."""
        for interceptor in self._chain:
            answer = self._call(interceptor, method, seen)
            seen = seen if answer is None else answer
        return seen

    def _tell(self, method: str, *arguments: Any) -> None:
        for interceptor in self._chain:
            self._call(interceptor, method, *arguments)

    @staticmethod
    def _call(interceptor: Any, method: str, *arguments: Any) -> Any:
        called = getattr(interceptor, method, None)
        if called is None:
            return None
        try:
            return called(*arguments)
        except Exception as error:
            LOG.warn("Error executing interceptor %s.%s: %s", type(interceptor).__name__, method, error)
            return None
