"""The quota of partitions that a client may create or delete in a second (controller_mutation_rate, KIP-599).

Versions that know THROTTLING_QUOTA_EXCEEDED are refused what exceeds the quota, topic by topic; older ones are given
it, and throttled afterwards.
"""

from __future__ import annotations

from kcore import errors

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
        quotas = context.broker.client_quotas
        throttle_ms = quotas.mutate_for(context.user, context.client_id, partitions, strictly)
        context.throttle(throttle_ms)
        if throttle_ms and strictly:
            raise errors.ThrottlingQuotaExceededError("The throttling quota has been exceeded.")

    return apply
