"""UpdateFeatures, and what ApiVersions then says of features."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.controller.features import worth_naming
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.protocol import apis
from kcore.server.broker import Broker
from kcore.server.run import BrokerStartError, start
from tests.raw_client import RawClient

UNSUPPORTED_VERSION, INVALID_UPDATE_VERSION = 35, 95
SUPPORTED = {"group.version": (0, 1), "colour.version": (0, 3), "shape.version": (1, 2), "taste.version": (0, 0)}


@pytest.fixture
def colourful(broker: Broker) -> Iterator[Broker]:
    """The broker as if there were more features, which are all at 0 again afterwards."""
    controller = broker.controller
    real, registration = controller.supported_features, controller.image.brokers[broker.broker_id]
    controller.supported_features = SUPPORTED
    controller.register_broker(registration.replace(features=tuple(worth_naming(SUPPORTED))))
    yield broker
    with RawClient(broker.bound_listeners[0].port) as client:
        assert update(client, 1, {"colour.version": 0}, upgrade_type=3) == {"colour.version": 0}
    controller.supported_features = real
    broker._registration = controller.register_broker(registration)


def update(client: RawClient, version: int, levels: dict[str, int], **more: object) -> dict[str, int]:
    """Error codes by feature."""
    validate_only = more.pop("validate_only", False)
    rows = [{"feature": name, "max_version_level": level, **more} for name, level in levels.items()]
    fields = {"feature_updates": rows, **({"validate_only": validate_only} if version else {})}
    response = client.request(apis.UPDATE_FEATURES, version, fields)
    assert (response.error_code, response.error_message) == (0, "")
    return {result.feature: result.error_code for result in response.results}


def features(client: RawClient, version: int) -> tuple[set[tuple[str, int, int]], dict[str, int], int]:
    """What ApiVersions says: supported ranges, finalized levels, and their epoch."""
    asked = {"client_software_name": "test", "client_software_version": "1"}
    response = client.request(apis.API_VERSIONS, version, asked)
    supported = {(row.name, row.min_version, row.max_version) for row in response.supported_features}
    assert all(row.min_version_level == row.max_version_level for row in response.finalized_features)
    finalized = {row.name: row.max_version_level for row in response.finalized_features}
    return supported, finalized, response.finalized_features_epoch


def test_a_broker_does_not_start_in_a_cluster_that_agreed_on_more_than_it_knows(tmp_path: Path) -> None:
    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)})
    metadata = MemoryMetadata()
    store = MemoryMetadataStore(metadata)
    store.open()
    store.set_features(store.claim_controller(1), {"transaction.version": 2})
    store.close()
    broker = Broker(config, store=MemoryMetadataStore(metadata))
    with pytest.raises(BrokerStartError, match=r"does not support finalized version 2 of transaction\.version"):
        start(broker)
    broker = Broker(config)
    broker.startup()
    broker.shutdown()


@pytest.mark.parametrize("version", [3, 4])
def test_nothing_is_supported_before_it_is_there(client: RawClient, version: int) -> None:
    supported, finalized, epoch = features(client, version)
    assert (supported, finalized) == ({("group.version", 0, 1)} if version > 3 else set(), {"group.version": 1})
    assert epoch > 0


def test_consumer_groups_are_refused_where_the_cluster_has_not_agreed_on_them(client: RawClient) -> None:
    fields = {"group_id": "g", "member_id": "m", "member_epoch": 0, "rebalance_timeout_ms": 1, "topic_partitions": []}
    fields["subscribed_topic_names"] = ["nothing"]

    def codes() -> list[int]:
        beat = client.request(apis.CONSUMER_GROUP_HEARTBEAT, 1, fields).error_code
        described = client.request(apis.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": ["g"]}).groups[0].error_code
        return [beat, described]

    assert UNSUPPORTED_VERSION not in codes()
    assert update(client, 1, {"group.version": 0}) == {"group.version": INVALID_UPDATE_VERSION}
    assert update(client, 1, {"group.version": 0}, upgrade_type=2) == {"group.version": 0}
    assert codes() == [UNSUPPORTED_VERSION] * 2
    assert features(client, 4)[1] == {}
    assert update(client, 1, {"group.version": 1}) == {"group.version": 0}
    assert UNSUPPORTED_VERSION not in codes()


def test_old_clients_hear_nothing_of_a_level_0(colourful: Broker, client: RawClient) -> None:
    assert features(client, 4)[0] == {("group.version", 0, 1), ("colour.version", 0, 3), ("shape.version", 1, 2)}
    assert features(client, 3)[0] == {("shape.version", 1, 2)}


def test_clients_see_a_level_as_soon_as_it_is_finalized(colourful: Broker, client: RawClient) -> None:
    _, _, epoch = features(client, 3)
    assert update(client, 1, {"colour.version": 2, "taste.version": 1}) == {
        "colour.version": 0,
        "taste.version": INVALID_UPDATE_VERSION,
    }
    assert features(client, 3)[1:] == ({"group.version": 1, "colour.version": 2}, epoch + 1)


def test_the_ways_down(colourful: Broker, client: RawClient) -> None:
    update(client, 0, {"colour.version": 3})
    assert update(client, 0, {"colour.version": 2}) == {"colour.version": INVALID_UPDATE_VERSION}
    assert update(client, 0, {"colour.version": 2}, allow_downgrade=True) == {"colour.version": 0}
    assert update(client, 1, {"colour.version": 1}, upgrade_type=2) == {"colour.version": 0}
    assert update(client, 1, {"colour.version": 2}, validate_only=True) == {"colour.version": 0}
    assert features(client, 4)[1] == {"group.version": 1, "colour.version": 1}


def test_version_2_updates_all_or_none(colourful: Broker, client: RawClient) -> None:
    def update_all(levels: dict[str, int], **more: object) -> tuple[int, str | None]:
        rows = [{"feature": name, "max_version_level": level} for name, level in levels.items()]
        response = client.request(apis.UPDATE_FEATURES, 2, {"feature_updates": rows, **more})
        return response.error_code, response.error_message

    code, message = update_all({"colour.version": 2, "no.such": 1})
    assert code == INVALID_UPDATE_VERSION
    assert message == (
        "The update failed for all features since the following feature had an error: Invalid update version 1 for "
        f"feature no.such. Local controller {colourful.broker_id} does not support this feature."
    )
    assert features(client, 4)[1] == {"group.version": 1}
    epoch = features(client, 4)[2]
    assert update_all({"colour.version": 2, "group.version": 1}, validate_only=True) == (0, None)
    assert features(client, 4)[1:] == ({"group.version": 1}, epoch)
    assert update_all({"colour.version": 2, "group.version": 1}) == (0, None)
    assert features(client, 4)[1:] == ({"group.version": 1, "colour.version": 2}, epoch + 1)
