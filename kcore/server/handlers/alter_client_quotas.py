"""AlterClientQuotas (key 49): changes client quotas. Each entity succeeds or fails independently (KIP-546).

v1 is flexible. An alteration is committed and applied to this broker before it is answered.
"""

from __future__ import annotations

from kcore import errors
from kcore.controller.quota_plan import QuotaAlteration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.metadata.quota_entity import QuotaEntity
    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Passes the alterations to the controller."""
    alterations = [
        QuotaAlteration(
            ((part.entity_type, part.entity_name) for part in entry.entity),
            ((operation.key, None if operation.remove else operation.value) for operation in entry.ops),
        )
        for entry in request.entries
    ]
    results = context.broker.controller.alter_client_quotas(alterations, request.validate_only)
    return {"entries": [describe(entity, error) for entity, error in results.items()]}


def describe(entity: QuotaEntity, error: errors.KafkaError | None) -> Fields:
    """The response of one entity."""
    return {
        "error_code": errors.NONE if error is None else error.code,
        "error_message": None if error is None else str(error),
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.parts],
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every entity."""
    return {
        "entries": [
            {
                "error_code": error.code,
                "error_message": str(error),
                "entity": [{"entity_type": part.entity_type, "entity_name": part.entity_name} for part in entry.entity],
            }
            for entry in request.entries
        ]
    }
