"""Finalized features: what may be changed to what, in Kafka's words, and who may work in such a cluster."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.config.broker import BrokerConfig
from kcore.controller.controller import Controller
from kcore.controller.features import (
    SAFE_DOWNGRADE,
    SUPPORTED_FEATURES,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdate,
    worth_naming,
)
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.metadata.image import BrokerRegistration

SUPPORTED = {"colour.version": (0, 3), "shape.version": (1, 1)}
DOWNGRADE_BY_UPGRADE = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
)


@pytest.fixture
def controller() -> Controller:
    """A controller that leads two brokers, the second of which is older."""
    return started(MemoryMetadata())


def started(metadata: MemoryMetadata) -> Controller:
    store = MemoryMetadataStore(metadata)
    store.open("cluster")
    controller = Controller(store, BrokerConfig({}), supported_features=SUPPORTED)
    controller.start(1)
    controller.register_broker(BrokerRegistration(1, features=worth_naming(SUPPORTED)))
    controller.register_broker(BrokerRegistration(2, features=[("colour.version", 0, 2)]))
    return controller


def update(controller: Controller, name: str, level: int, kind: int = UPGRADE, validate_only: bool = False) -> str:
    """What was wrong; the empty string when nothing was."""
    (error,) = controller.update_features([FeatureUpdate(name, level, kind)], validate_only).values()
    assert error is None or isinstance(error, errors.InvalidUpdateVersionError)
    prefix = f"Invalid update version {level} for feature {name}. "
    assert error is None or str(error).startswith(prefix)
    return "" if error is None else str(error).removeprefix(prefix)


def test_up_and_down_again(controller: Controller) -> None:
    assert update(controller, "colour.version", 2) == ""
    assert (controller.image.features, controller.image.features_epoch) == ({"colour.version": 2}, 1)
    assert update(controller, "colour.version", 1) == DOWNGRADE_BY_UPGRADE
    assert update(controller, "colour.version", 1, SAFE_DOWNGRADE) == ""
    assert update(controller, "colour.version", 0, UNSAFE_DOWNGRADE) == ""
    assert (controller.image.features, controller.image.features_epoch) == ({}, 3)


@pytest.mark.parametrize(
    ("name", "level", "kind", "complaint"),
    [
        ("colour.version", 4, UPGRADE, "Local controller 1 only supports versions 0-3"),
        ("colour.version", 3, UPGRADE, "Broker 2 only supports versions 0-2"),
        ("colour.version", -1, UPGRADE, "A feature version cannot be less than 0."),
        ("colour.version", 1, SAFE_DOWNGRADE, "Can't downgrade to a newer version."),
        ("colour.version", 1, 7, "The controller does not support the given upgrade type."),
        ("shape.version", 1, UPGRADE, "Broker 2 does not support this feature."),
        ("taste.version", 1, UPGRADE, "Local controller 1 does not support this feature."),
    ],
)
def test_what_cannot_be(controller: Controller, name: str, level: int, kind: int, complaint: str) -> None:
    assert update(controller, name, level, kind) == complaint
    assert controller.image.features_epoch == 0


def test_validation_and_the_present_level_change_nothing(controller: Controller) -> None:
    assert update(controller, "colour.version", 2, validate_only=True) == ""
    assert update(controller, "taste.version", 0) == ""
    assert (controller.image.features, controller.image.features_epoch) == ({}, 0)


def test_one_failure_does_not_keep_the_others(controller: Controller) -> None:
    results = controller.update_features([FeatureUpdate("taste.version", 1), FeatureUpdate("colour.version", 1)])
    assert [error is None for error in results.values()] == [False, True]
    assert controller.image.features == {"colour.version": 1}


def test_together_one_failure_keeps_all_from_changing(controller: Controller) -> None:
    wanted = FeatureUpdate("colour.version", 1)
    for refused in (FeatureUpdate("taste.version", 1), FeatureUpdate("taste.version", 0)):
        with pytest.raises(errors.InvalidUpdateVersionError):
            controller.update_all_features([wanted, refused])
        assert (controller.image.features, controller.image.features_epoch) == ({}, 0)
    controller.update_all_features([wanted], validate_only=True)
    assert (controller.image.features, controller.image.features_epoch) == ({}, 0)
    controller.update_all_features([wanted])
    assert (controller.image.features, controller.image.features_epoch) == ({"colour.version": 1}, 1)


def test_a_name_that_no_feature_has_is_not_found(controller: Controller) -> None:
    message = r"^Invalid update version 0 for feature taste\.version\. Feature taste\.version not found\.$"
    with pytest.raises(errors.InvalidUpdateVersionError, match=message):
        controller.update_all_features([FeatureUpdate("taste.version", 0)])


def test_levels_outlive_the_controller() -> None:
    metadata = MemoryMetadata()
    update(started(metadata), "colour.version", 2)
    again = started(metadata)
    assert (again.image.features, again.image.features_epoch) == ({"colour.version": 2}, 1)


def test_a_broker_that_lacks_a_finalized_level_is_turned_away(controller: Controller) -> None:
    update(controller, "colour.version", 2)
    old = BrokerRegistration(3, features=[("colour.version", 0, 1)])
    with pytest.raises(
        errors.UnsupportedVersionError, match=r"does not support finalized version 2 of colour\.version"
    ):
        controller.register_broker(old)
    assert 3 not in controller.image.brokers


def test_nothing_is_claimed_that_is_not_there() -> None:
    """The day a level exists, its row grows, and so does this test."""
    assert SUPPORTED_FEATURES == {"group.version": (0, 1), "transaction.version": (0, 0)}
    assert worth_naming(SUPPORTED_FEATURES) == [("group.version", 0, 1)]


def test_a_cluster_has_consumer_groups_until_somebody_says_otherwise() -> None:
    """One of before there were features here, too; who has turned them off finds them so after a restart."""
    metadata = MemoryMetadata()

    def start() -> Controller:
        store = MemoryMetadataStore(metadata)
        store.open("cluster")
        controller = Controller(store, BrokerConfig({}))
        controller.start(1)
        controller.register_broker(BrokerRegistration(1, features=worth_naming(SUPPORTED_FEATURES)))
        controller.finalize_first_levels()
        return controller

    assert start().image.features == {"group.version": 1}
    assert start().image.features_epoch == 1
    assert update(start(), "group.version", 0, SAFE_DOWNGRADE) == ""
    assert start().image.features == {}
