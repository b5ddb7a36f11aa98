"""DescribeUserScramCredentials (key 50): the SCRAM credentials of users (KIP-554).

This broker keeps none, since it has no SASL: nobody is found. `kafka-configs --describe --entity-type users` asks
before it shows the users' quotas, and fails where a broker does not answer.
"""

from __future__ import annotations

from collections import Counter

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """An error for each user that is asked for; all users, asked for by null or nobody, are none."""
    asked = Counter(user.name for user in request.users or ())
    return {"error_code": errors.NONE, "error_message": "", "results": [missing(*one) for one in asked.items()]}


def missing(user: str, times: int) -> Fields:
    """Why a user is not described."""
    error: errors.KafkaError
    if times > 1:
        error = errors.DuplicateResourceError(
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        )
    else:
        error = errors.ResourceNotFoundError(f"Attempt to describe a user credential that does not exist: {user}")
    return {"user": user, "error_code": error.code, "error_message": str(error), "credential_infos": []}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """The error alone."""
    return {"error_code": error.code, "error_message": str(error), "results": []}
