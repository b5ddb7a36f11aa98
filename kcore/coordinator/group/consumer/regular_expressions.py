"""Subscriptions by pattern: when they are resolved, and what comes of it (KIP-848).

A pattern is held against all names of topics away from the group's lock, at most once in so many seconds for a group
(`kcli.group.pattern.min.refresh.interval.ms`, ten as in Kafka): when there is one that was not resolved yet, and when
topics changed since.
"""

from __future__ import annotations

from kcore import errors
from kcore.coordinator.group.consumer import records
from kcore.coordinator.group.consumer.decision import Decision
from kcore.coordinator.group.consumer.group import names_of
from kcore.coordinator.group.consumer.subscription import ResolvedRegex
from kcore.logger import WARN, get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.coordinator.group.consumer.decision import Moment
    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.consumer.re2.limits import Limits
    from kcore.metadata.image import MetadataImage

LOG = get_logger("kcore.coordinator.group")

# The metadata here has no number that outlives a restart, so that whoever loads this looks at the topics again.
NO_VERSION = 0


def check(pattern: str, limits: Limits) -> None:
    """InvalidRegularExpressionError, in Kafka's words, for what is no pattern of RE2."""
    from kcore.coordinator.group.consumer.re2.parser import PatternError, parse

    try:
        parse(pattern, limits)
    except PatternError as error:
        raise errors.InvalidRegularExpressionError(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}."
        ) from None


def to_resolve(group: ConsumerGroup, patterns: frozenset[str], moment: Moment) -> frozenset[str]:
    """The patterns that have to be held against topics now; all of a group's at once, so that it rebalances once."""
    if not patterns or group.is_resolving:
        return frozenset()
    last_ms = max((regex.timestamp_ms for regex in group.resolved_regexes.values()), default=None)
    if last_ms is not None and 0 <= moment.wall_ms - last_ms <= moment.settings.pattern_min_refresh_interval_ms:
        return frozenset()
    is_due = group.topics_resolved is not moment.image.topics or patterns != group.resolved_regexes.keys()
    return patterns if is_due else frozenset()


def resolve(patterns: Iterable[str], image: MetadataImage, wall_ms: int, limits: Limits) -> dict[str, ResolvedRegex]:
    """The topics of every pattern. Takes a time that is linear in the names; to be called without a lock."""
    from kcore.coordinator.group.consumer.re2.matcher import Matcher
    from kcore.coordinator.group.consumer.re2.parser import PatternError, parse

    resolved = {}
    for pattern in patterns:
        try:
            matcher = Matcher(parse(pattern, limits), limits)
            topics = frozenset(name for name in image.topics if matcher.matches(name))
        except PatternError as error:
            cause = "a subscription that cannot be matched"
            LOG.limited(WARN, "any", cause, "No topic matches the subscription %r: %s", pattern, error)
            topics = frozenset()
        resolved[pattern] = ResolvedRegex(topics, NO_VERSION, wall_ms)
    return resolved


def on_resolved(group: ConsumerGroup, resolved: Mapping[str, ResolvedRegex], moment: Moment) -> Decision:
    """Keeps what was found; the group's epoch rises if that changes what it subscribes to."""
    decision = Decision()
    patterns = group.patterns
    after = dict(group.resolved_regexes)
    has_changed = False
    for pattern, regex in resolved.items():
        if pattern in patterns:
            before = after.get(pattern)
            has_changed = has_changed or regex.topics != (before.topics if before is not None else frozenset())
            after[pattern] = regex
            decision.records.append(records.regex(group.group_id, pattern, regex))
    names = names_of(group.members.values(), after)
    now = group.current_hash(names, moment.image)
    if has_changed or now != group.metadata_hash:
        decision.records.append(records.group_epoch(group.group_id, group.next_epoch, now))
    return decision
