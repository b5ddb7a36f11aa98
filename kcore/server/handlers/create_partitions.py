"""CreatePartitions (key 37): adds partitions to topics. Each topic succeeds or fails independently (KIP-195).

v2 is flexible, v3 may answer THROTTLING_QUOTA_EXCEEDED (KIP-599). A topic that is listed twice is refused. The new
partitions have logs and a leader before the response. The error messages are those of `ReplicationControlManager`.
"""

from __future__ import annotations

from collections import Counter

from kcore import errors
from kcore.controller.new_topic import NewPartitions
from kcore.server.mutation_quota import mutation_quota

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_QUOTA = 3


def handle(context: RequestContext, request: Any) -> Fields:
    """Passes the topics to the controller."""
    counts = Counter(asked.name for asked in request.topics)
    duplicate = errors.InvalidRequestError("Duplicate topic name.")
    refused = [describe(name, duplicate) for name, count in counts.items() if count > 1]
    additions = [addition(asked) for asked in request.topics if counts[asked.name] == 1]
    results = context.broker.controller.create_partitions(
        additions, request.validate_only, mutation_quota(context, FIRST_WITH_QUOTA)
    )
    return {"results": refused + [describe(result.name, result.error) for result in results]}


def addition(asked: Any) -> NewPartitions:
    """Converts a topic of the request for the controller."""
    assignments = None if asked.assignments is None else [assigned.broker_ids for assigned in asked.assignments]
    return NewPartitions(asked.name, asked.count, assignments)


def describe(name: str, error: errors.KafkaError | None) -> Fields:
    """The response of one topic."""
    if error is None:
        return {"name": name, "error_code": errors.NONE, "error_message": None}
    return {"name": name, "error_code": error.code, "error_message": error.detail}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every topic."""
    return {"results": [describe(name, error) for name in dict.fromkeys(asked.name for asked in request.topics)]}
