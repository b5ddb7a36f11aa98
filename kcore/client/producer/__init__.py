"""The producer: `Producer`, `AsyncProducer`, their futures and errors.

Names are imported on first use, so that unused parts cost nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.producer.async_producer import AsyncProducer as AsyncProducer
    from kcore.client.producer.batch_future import BatchFuture as BatchFuture
    from kcore.client.producer.batch_future import DeliveredRange as DeliveredRange
    from kcore.client.producer.delivery_errors import DeliveryTimeout as DeliveryTimeout
    from kcore.client.producer.delivery_errors import ProducerClosed as ProducerClosed
    from kcore.client.producer.delivery_errors import RecordAborted as RecordAborted
    from kcore.client.producer.producer import Producer as Producer
    from kcore.client.producer.record_future import RecordFuture as RecordFuture
    from kcore.client.producer.record_future import RecordMetadata as RecordMetadata

_HOMES = {
    "AsyncProducer": "async_producer",
    "BatchFuture": "batch_future",
    "DeliveredRange": "batch_future",
    "DeliveryTimeout": "delivery_errors",
    "Producer": "producer",
    "ProducerClosed": "delivery_errors",
    "RecordAborted": "delivery_errors",
    "RecordFuture": "record_future",
    "RecordMetadata": "record_future",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found
