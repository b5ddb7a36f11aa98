"""DescribeClientQuotas (key 48): the quotas of the entities that a filter matches (KIP-546). v1 is flexible."""

from __future__ import annotations

from kcore.metadata.quota_entity import QuotaFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore import errors
    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Every matching entity with its quotas."""
    asked = QuotaFilter(
        ((part.entity_type, part.match_type, part.match) for part in request.components), request.strict
    )
    client_quotas = context.broker.metadata_cache.image.client_quotas
    return {
        "entries": [
            {
                "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.parts],
                "values": [{"key": key, "value": value} for key, value in client_quotas[entity].items()],
            }
            for entity in asked.select(client_quotas)
        ]
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error. The entries are null."""
    return {"error_code": error.code, "error_message": str(error), "entries": None}
