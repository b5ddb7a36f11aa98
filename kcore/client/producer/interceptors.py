"""Interceptors of a producer: called for each record before serialization and after its delivery (ProducerInterceptor).

on_send(record) -> the record to send        on_acknowledgement(metadata, error)        close()
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.interceptor_chain import InterceptorChain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ProducerRecord(NamedTuple):
    """A record as the application sent it."""

    topic: str
    value: Any = None
    key: Any = None
    headers: Any = None
    partition: int | None = None
    timestamp: int | None = None


class ProducerInterceptors(InterceptorChain):
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return self._pass("on_send", record)

    def on_acknowledgement(self, metadata: Any, error: Exception | None) -> None:
        self._tell("on_acknowledgement", metadata, error)
