"""Applies the client quotas of the metadata to this broker (ClientQuotaMetadataManager)."""

from __future__ import annotations

from kcore.metadata.quota_entity import (
    CLIENT_ID,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
)
from kcore.quota.client_quota_manager import CONTROLLER_MUTATION, FETCH, PRODUCE, REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.metadata.image import MetadataDelta, MetadataImage
    from kcore.metadata.quota_entity import QuotaEntity
    from kcore.quota.client_quota_manager import ClientQuotaManager

QUOTA_TYPES = {
    PRODUCER_BYTE_RATE: PRODUCE,
    CONSUMER_BYTE_RATE: FETCH,
    REQUEST_PERCENTAGE: REQUEST,
    CONTROLLER_MUTATION_RATE: CONTROLLER_MUTATION,
}


class QuotaPublisher:
    """Subscribe `publish` to the metadata cache."""

    __slots__ = ("_clients",)

    def __init__(self, clients: ClientQuotaManager) -> None:
        self._clients = clients

    def publish(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Replaces all client quotas if one has changed, before the change is answered."""
        if delta.quotas_changed:
            self._clients.replace_limits(client_limits(image.client_quotas))


def client_limits(
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]],
) -> list[tuple[int, str | None, str | None, float]]:
    """The (type, user, client id, limit) of every quota of users and client ids."""
    return [
        (QUOTA_TYPES[key], name_of(entity, USER), name_of(entity, CLIENT_ID), value)
        for entity, quotas in client_quotas.items()
        for key, value in quotas.items()
        if key in QUOTA_TYPES
    ]


def name_of(entity: QuotaEntity, entity_type: str) -> str | None:
    """The entity's name of a type: empty for the default entity, None if the entity has no such type."""
    return (entity.name(entity_type) or "") if entity.has(entity_type) else None
