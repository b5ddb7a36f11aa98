"""The quota of partitions that a client may create or delete in a second (controller_mutation_rate, KIP-599).

Versions that know THROTTLING_QUOTA_EXCEEDED are refused what exceeds the quota, topic by topic; older ones are given
it, and throttled afterwards.
"""

from __future__ import annotations

from kcore import errors
from kcore.quota.client_quota_manager import CONTROLLER_MUTATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.server.request_context import RequestContext


def mutation_quota(context: RequestContext, strict_since: int | None = None) -> Callable[[int], None]:
    """For the controller to call with the partitions of each topic before it changes anything.

    It raises ThrottlingQuotaExceededError in versions from `strict_since` on; without one no version is refused.
    """
    strictly = strict_since is not None and context.api_version >= strict_since

    def apply(partitions: int) -> None:
        throttle_ms = context.charge(CONTROLLER_MUTATION, partitions, strictly=strictly)
        if throttle_ms and strictly:
            raise errors.ThrottlingQuotaExceededError("The throttling quota has been exceeded.")

    return apply
