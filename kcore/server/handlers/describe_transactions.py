"""DescribeTransactions (key 65): the state of transactions by transactional id (KIP-664).

This broker coordinates no transactions, so every id is unknown to it.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Answers TRANSACTIONAL_ID_NOT_FOUND for each id."""
    return failure(request, errors.TransactionalIdNotFoundError.code)


def failure(request: Any, code: int) -> Fields:
    """The response with one error for every transactional id."""
    return {
        "transaction_states": [
            {"error_code": code, "transactional_id": transactional_id} for transactional_id in request.transactional_ids
        ]
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every transactional id."""
    return failure(request, error.code)
