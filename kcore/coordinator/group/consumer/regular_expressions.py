"""Subscriptions by pattern: when patterns are matched with topic names, and the effect on the group (KIP-848).

Patterns are matched without the group's lock, when a pattern is new and when topics have changed. A group's patterns
are matched at most once in `kcli.group.pattern.min.refresh.interval.ms` (10 seconds, as in Kafka).
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
    from kcore.coordinator.group.consumer.topic_pattern import PatternLimits
    from kcore.metadata.image import MetadataImage

LOG = get_logger("kcore.coordinator.group")

# Metadata versions do not survive a restart here. With this version a coordinator that loads the record matches again.
NO_VERSION = 0


def check(pattern: str, limits: PatternLimits) -> None:
    """InvalidRegularExpressionError, with Kafka's text, for a pattern that is not valid or too large."""
    from kcore.coordinator.group.consumer.topic_pattern import PatternError, TopicPattern

    try:
        TopicPattern(pattern, limits)
    except PatternError as error:
        raise errors.InvalidRegularExpressionError(
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {error}."
        ) from None


def to_resolve(group: ConsumerGroup, patterns: frozenset[str], moment: Moment) -> frozenset[str]:
    """The patterns to match now: all of a group's or none, so that it rebalances once."""
    if not patterns or group.is_resolving:
        return frozenset()
    last_ms = max((regex.timestamp_ms for regex in group.resolved_regexes.values()), default=None)
    if last_ms is not None and 0 <= moment.wall_ms - last_ms <= moment.settings.pattern_min_refresh_interval_ms:
        return frozenset()
    is_due = group.topics_resolved is not moment.image.topics or patterns != group.resolved_regexes.keys()
    return patterns if is_due else frozenset()


def resolve(
    patterns: Iterable[str], image: MetadataImage, wall_ms: int, limits: PatternLimits
) -> dict[str, ResolvedRegex]:
    """The topics of every pattern. Call it without a lock: it may take the time that the limits allow."""
    from kcore.coordinator.group.consumer.topic_pattern import PatternError, TopicPattern

    resolved = {}
    for pattern in patterns:
        try:
            topics = TopicPattern(pattern, limits).matching(image.topics)
        except PatternError as error:
            cause = "a subscription that cannot be matched"
            LOG.limited(WARN, "any", cause, "No topic matches the subscription %r: %s", pattern, error)
            topics = frozenset()
        resolved[pattern] = ResolvedRegex(topics, NO_VERSION, wall_ms)
    return resolved


def on_resolved(group: ConsumerGroup, resolved: Mapping[str, ResolvedRegex], moment: Moment) -> Decision:
    """Stores the topics that matched. The group's epoch rises if its subscription changes."""
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
