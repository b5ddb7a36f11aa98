"""Delivery errors that are the producer's own, not error codes of a broker."""

from __future__ import annotations

from kcore.client.errors import ClientError, ClientTimeout, broker_error
from kcore.errors import InvalidRecordError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.errors import KafkaError

# LocalError of kcore/client/producer/producer_batch.pxd.
DELIVERY_TIMEOUT, CLOSED, ABORTED, NO_MEMORY, UNREADABLE_ANSWER, RECORD_REFUSED = range(-100, -106, -1)


class DeliveryTimeout(ClientTimeout):
    """A record was not acknowledged within `delivery.timeout.ms`. It may have been written."""


class ProducerClosed(ClientError):
    """The producer was closed before the record was acknowledged, or is closed already."""


class RecordAborted(ClientError):
    """The record's transaction was aborted."""


def local_error(code: int, subject: str) -> Exception:
    """The exception for one of the producer's own error codes. `subject` is a partition."""
    if code == DELIVERY_TIMEOUT:
        return DeliveryTimeout(f"{subject}: not acknowledged within delivery.timeout.ms")
    if code == CLOSED:
        return ProducerClosed(f"{subject}: the producer was closed before the record was acknowledged")
    if code == ABORTED:
        return RecordAborted(f"{subject}: the transaction that the record was sent in was aborted")
    if code == NO_MEMORY:
        return MemoryError(f"{subject}: not enough memory to send the record")
    if code == RECORD_REFUSED:
        return InvalidRecordError(f"{subject}: the broker rejected another record of the same batch")
    return ClientError(f"{subject}: the broker's response could not be read")


def refused_record_error(code: int, subject: str, reason: str | None, refused_count: int) -> KafkaError:
    """Return the error of a record that the broker rejected by index.

    The batch's error code applies to it only if it is the only one.
    """
    if refused_count == 1:
        return broker_error(code, subject, reason)
    return InvalidRecordError(f"{subject}: {reason or InvalidRecordError.description}")
