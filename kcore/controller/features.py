"""Features and their levels, which the cluster finalizes before they are used (KIP-584, `Feature` of Kafka).

    group.version        1: the group protocol of KIP-848; at 0 its requests are refused
    transaction.version  1: flexible fields in transaction state; 2: a new epoch for every transaction (KIP-890)

A feature is announced to clients only if this release supports a level above 0. A cluster whose features were never
changed is finalized at `FIRST_LEVELS`, like a new cluster of Kafka 4. `metadata.version`, the level of KRaft's metadata
records, is not supported, since there are no such records here.
"""

from __future__ import annotations

from kcore import errors
from kcore.metadata.image import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.metadata.image import BrokerRegistration, MetadataImage

    Range = tuple[int, int]

# Lowest and highest supported level by name.
SUPPORTED_FEATURES: Mapping[str, Range] = {"group.version": (0, 1), "transaction.version": (0, 0)}
GROUP_VERSION = "group.version"
# The first level with the group protocol of KIP-848.
WITH_CONSUMER_GROUPS = 1
FIRST_LEVELS: Mapping[str, int] = {GROUP_VERSION: WITH_CONSUMER_GROUPS}
NEVER_CHANGED = 0
DISABLED = (0, 0)

# Kafka's `FeatureUpdate.UpgradeType`.
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
UPGRADE_TYPES = (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE)


def first_levels(image: MetadataImage, supported: Mapping[str, Range]) -> list[tuple[str, int]]:
    """The levels to finalize in a cluster in which no feature was ever finalized."""
    if image.features_epoch != NEVER_CHANGED:
        return []
    return [(name, level) for name, level in FIRST_LEVELS.items() if level <= supported.get(name, DISABLED)[1]]


class FeatureUpdate(Value):
    """A requested change of a finalized level."""

    __slots__ = ("level", "name", "upgrade_type")

    def __init__(self, name: str, level: int, upgrade_type: int = UPGRADE) -> None:
        self.name = name
        self.level = level
        self.upgrade_type = upgrade_type


def check_update(
    update: FeatureUpdate, image: MetadataImage, controller_id: int, supported: Mapping[str, Range]
) -> None:
    """Raises InvalidUpdateVersionError for an invalid update, with the messages of `FeatureControlManager`."""
    complaint = _objection(update, image, controller_id, supported)
    if complaint is not None:
        raise errors.InvalidUpdateVersionError(
            f"Invalid update version {update.level} for feature {update.name}. {complaint}"
        )


def check_name(update: FeatureUpdate, supported: Mapping[str, Range]) -> None:
    """Raises InvalidUpdateVersionError for an unknown feature, even at level 0, as in Kafka 4."""
    if update.name not in supported:
        raise errors.InvalidUpdateVersionError(
            f"Invalid update version {update.level} for feature {update.name}. Feature {update.name} not found."
        )


def _objection(
    update: FeatureUpdate, image: MetadataImage, controller_id: int, supported: Mapping[str, Range]
) -> str | None:
    if update.upgrade_type not in UPGRADE_TYPES:
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    complaint = _not_supported(update, f"Local controller {controller_id}", supported.get(update.name, DISABLED))
    complaints = (_not_supported_by_broker(update, broker) for broker in image.brokers.values())
    complaint = complaint or next(filter(None, complaints), None)
    if complaint is not None:
        return complaint
    current = image.features.get(update.name, 0)
    if update.level < current and update.upgrade_type == UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    if update.level > current and update.upgrade_type != UPGRADE:
        return "Can't downgrade to a newer version."
    return None


def _not_supported_by_broker(update: FeatureUpdate, broker: BrokerRegistration) -> str | None:
    ranges = {name: (low, high) for name, low, high in broker.features}
    return _not_supported(update, f"Broker {broker.broker_id}", ranges.get(update.name, DISABLED))


def _not_supported(update: FeatureUpdate, who: str, supported: Range) -> str | None:
    low, high = supported
    if low <= update.level <= high:
        return None
    return f"{who} does not support this feature." if high == 0 else f"{who} only supports versions {low}-{high}"


def worth_naming(supported: Mapping[str, Range]) -> list[tuple[str, int, int]]:
    """(name, lowest level, highest level) of the features with a level above 0."""
    return [(name, low, high) for name, (low, high) in sorted(supported.items()) if high > 0]


def check_finalized(features: Iterable[tuple[str, int]], broker: BrokerRegistration) -> None:
    """Raises UnsupportedVersionError if the broker does not support a finalized level."""
    ranges = {name: (low, high) for name, low, high in broker.features}
    for name, level in features:
        low, high = ranges.get(name, DISABLED)
        if not low <= level <= high:
            raise errors.UnsupportedVersionError(
                f"Unable to register because the broker does not support finalized version {level} of {name}. The "
                f"broker wants a version between {low} and {high}, inclusive."
            )
