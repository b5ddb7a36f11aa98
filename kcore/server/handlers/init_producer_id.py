"""InitProducerId (key 22): assigns an id and epoch to an idempotent producer (KIP-98).

v2 is flexible. v3 adds the producer's previous id and epoch (KIP-360), which only matter to transactional producers: an
idempotent one gets a new id. This broker does not support transactions and answers a transactional id with
UNSUPPORTED_VERSION. Clients look up the coordinator of their id first and fail there (`find_coordinator.py`).
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
FIRST_EPOCH = 0


def handle(context: RequestContext, request: Any) -> Fields:
    """Assigns a new id with epoch 0."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise errors.InvalidRequestError()
    if request.transactional_id is not None:
        if not request.transactional_id:
            raise errors.InvalidRequestError()
        raise errors.UnsupportedVersionError()
    return {"producer_id": context.broker.producer_ids.next(), "producer_epoch": FIRST_EPOCH}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error, without an id."""
    return {"error_code": error.code, "producer_id": NO_PRODUCER_ID, "producer_epoch": NO_PRODUCER_EPOCH}
