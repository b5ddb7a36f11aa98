"""ListTransactions (key 66): the transactions that this broker coordinates, which are none (KIP-664).

The tools that look for hanging transactions ask every broker, and take a transaction that no coordinator lists for one
that nothing will end.
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
    """No transaction, and the filters that name no state."""
    unknown = [name for name in request.state_filters if name not in STATES]
    return {"unknown_state_filters": unknown, "transaction_states": []}


def error_response(context: RequestContext, request: Any, error: KafkaError) -> Fields:
    """The error at the top level."""
    return {"error_code": error.code}
