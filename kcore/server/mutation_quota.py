"""The quota of partitions that a client may create or delete per second (controller_mutation_rate, KIP-599).

In API versions with THROTTLING_QUOTA_EXCEEDED, topics above the quota are refused one by one. In older versions they
are accepted, and the client is throttled afterwards.
"""

from __future__ import annotations

from kcore import errors
from kcore.quota.client_quota_manager import CONTROLLER_MUTATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.server.request_context import RequestContext


def mutation_quota(context: RequestContext, strict_since: int | None = None) -> Callable[[int], None]:
    """A function that the controller calls with the number of partitions of each topic before it changes anything.

    From version `strict_since` on, it raises ThrottlingQuotaExceededError. With None it never raises.
    """
    strictly = strict_since is not None and context.api_version >= strict_since

    def apply(partitions: int) -> None:
        throttle_ms = context.charge(CONTROLLER_MUTATION, partitions, strictly=strictly)
        if throttle_ms and strictly:
            raise errors.ThrottlingQuotaExceededError("The throttling quota has been exceeded.")

    return apply
