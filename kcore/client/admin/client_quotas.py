"""Quotas of users, client ids and addresses: DescribeClientQuotas, AlterClientQuotas (KIP-546)."""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.results import failure_of, raise_failure
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcore.errors import KafkaError

# Kinds of match: a name, the default of its type, or any name.
MATCH_NAME, MATCH_DEFAULT, MATCH_ANY = 0, 1, 2


class ClientQuotas(NamedTuple):
    """`entity` maps types (user, client-id, ip) to names. The name None means the type's default."""

    entity: Mapping[str, str | None]
    quotas: Mapping[str, float]


class QuotaChange(NamedTuple):
    """Quotas to set for an entity. The value None removes a quota."""

    entity: Mapping[str, str | None]
    quotas: Mapping[str, float | None]


class ClientQuotaAdmin(AdminCalls):
    __slots__ = ()

    def describe_client_quotas(
        self, components: Iterable[tuple[str, int, str | None]] = (), *, strict: bool = False
    ) -> list[ClientQuotas]:
        """Return the quotas of the entities that match all components (type, kind of match, name).

        `strict`: only entities without other types.
        """
        rows = [{"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components]
        response = self._request(apis.DESCRIBE_CLIENT_QUOTAS, {"components": rows, "strict": strict})
        raise_failure(response.error_code, "client quotas", response.error_message)
        return [
            ClientQuotas(
                {part.entity_type: part.entity_name for part in entry.entity},
                {value.key: value.value for value in entry.values},
            )
            for entry in response.entries or ()
        ]

    def alter_client_quotas(
        self, changes: Sequence[QuotaChange], *, validate_only: bool = False
    ) -> list[KafkaError | None]:
        """Set and remove quotas. Returns the failure of each change, or None, in order."""
        entries = [
            {
                "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
                "ops": [
                    {"key": key, "value": 0.0 if value is None else value, "remove": value is None}
                    for key, value in quotas.items()
                ],
            }
            for entity, quotas in changes
        ]
        fields = {"entries": entries, "validate_only": validate_only}
        response = self._ask_controller(
            apis.ALTER_CLIENT_QUOTAS, fields, lambda answer: (entry.error_code for entry in answer.entries)
        )
        outcomes = {
            frozenset((part.entity_type, part.entity_name) for part in entry.entity): failure_of(
                entry.error_code, "client quotas", entry.error_message
            )
            for entry in response.entries
        }
        return [outcomes[frozenset(entity.items())] for entity, _ in changes]
