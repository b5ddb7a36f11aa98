"""DescribeUserScramCredentials (key 50): the SCRAM credentials of users (KIP-554).

This broker does not support SASL and has no credentials. It serves this API because `kafka-configs --describe
--entity-type users` calls it before it shows the users' quotas, and fails without a response.
"""

from __future__ import annotations

from collections import Counter

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """An error for each requested user. Null or an empty list means all users; the result is then empty."""
    asked = Counter(user.name for user in request.users or ())
    return {"error_code": errors.NONE, "error_message": "", "results": [missing(*one) for one in asked.items()]}


def missing(user: str, times: int) -> Fields:
    """The error of one user: unknown, or listed more than once."""
    error: errors.KafkaError
    if times > 1:
        error = errors.DuplicateResourceError(
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        )
    else:
        error = errors.ResourceNotFoundError(f"Attempt to describe a user credential that does not exist: {user}")
    return {"user": user, "error_code": error.code, "error_message": str(error), "credential_infos": []}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code, "error_message": str(error), "results": []}
