"""ListTransactions (key 66): the transactions that this broker coordinates, of which there are none (KIP-664).

Tools that find hanging transactions ask every broker. A transaction that no coordinator lists counts as hanging.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.errors import KafkaError
    from kcore.server.request_context import Fields, RequestContext

# `TransactionState` of Apache Kafka.
STATES = frozenset(
    (
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    )
)


def handle(context: RequestContext, request: Any) -> Fields:
    """An empty list, and the unknown states of the filter."""
    unknown = [name for name in request.state_filters if name not in STATES]
    return {"unknown_state_filters": unknown, "transaction_states": []}


def error_response(context: RequestContext, request: Any, error: KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code}
