"""Features of a cluster and the levels at which they are finalized: ApiVersions, UpdateFeatures (KIP-584)."""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import ADMIN_TIMEOUT_MS, AdminCalls
from kcore.client.admin.results import failure_of, raise_failure
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.client.metadata.cluster import Node
    from kcore.errors import KafkaError
    from kcore.protocol.message import Message

# Kinds of change. The last one may lose data that a lower level cannot represent.
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


class Features(NamedTuple):
    """Supported ranges and finalized levels by name. Epoch -1: unknown."""

    supported: dict[str, tuple[int, int]]
    finalized: dict[str, int]
    epoch: int


class FeatureAdmin(AdminCalls):
    __slots__ = ()

    def describe_features(self) -> Features:
        """Return the features of one broker. Finalized levels are equal on all brokers."""
        response = self._ask_versions(None)
        return Features(
            {row.name: (row.min_version, row.max_version) for row in response.supported_features},
            {row.name: row.max_version_level for row in response.finalized_features},
            response.finalized_features_epoch,
        )

    def api_versions(self, broker: Node) -> dict[int, tuple[int, int]]:
        """Return the minimum and maximum version of each API of a broker, by API key."""
        response = self._ask_versions(broker)
        return {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}

    def update_features(
        self, levels: Mapping[str, int], upgrade_type: int = UPGRADE, *, validate_only: bool = False
    ) -> dict[str, KafkaError | None]:
        """Change the finalized levels of features. Level 0 removes a finalized feature.

        `upgrade_type` is UPGRADE, SAFE_DOWNGRADE or UNSAFE_DOWNGRADE. Returns the failure of each feature, or None.
        """
        rows = [
            {"feature": name, "max_version_level": level, "upgrade_type": upgrade_type}
            for name, level in levels.items()
        ]
        fields = {"feature_updates": rows, "timeout_ms": ADMIN_TIMEOUT_MS, "validate_only": validate_only}
        response = self._ask_controller(apis.UPDATE_FEATURES, fields, lambda answer: (answer.error_code,))
        raise_failure(response.error_code, "features", response.error_message)
        outcomes: dict[str, KafkaError | None] = dict.fromkeys(levels)
        for result in response.results:
            subject = f"feature {result.feature}"
            outcomes[result.feature] = failure_of(result.error_code, subject, result.error_message)
        return outcomes

    def _ask_versions(self, broker: Node | None) -> Message:
        from kcore import __version__

        software = {"client_software_name": self.client.client_id, "client_software_version": __version__}
        response = self._request(apis.API_VERSIONS, software, broker)
        raise_failure(response.error_code, "api versions")
        return response
