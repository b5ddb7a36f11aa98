"""Who a client quota is for, and which entities a filter describes (KIP-546, KIP-612).

An entity names a user, a client id, both of them, or an address; a name of None means the default of its kind:
every user, client id or address without a quota of its own. Pure: the controller decides with it, the broker describes
with it.
"""

from __future__ import annotations

from kcore import errors
from kcore.metadata.image import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"
ENTITY_TYPES = (USER, CLIENT_ID, IP)

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

# How a component of a filter matches (DescribeClientQuotasRequest).
MATCH_EXACT = 0
MATCH_DEFAULT = 1
MATCH_SPECIFIED = 2


class QuotaEntity(Value):
    """`parts` are (type, name) pairs in the order of their types' names."""

    __slots__ = ("parts",)

    def __init__(self, parts: Mapping[str, str | None] | Iterable[tuple[str, str | None]]) -> None:
        self.parts: tuple[tuple[str, str | None], ...] = tuple(sorted(dict(parts).items()))

    def has(self, entity_type: str) -> bool:
        """Whether the entity says anything about a type."""
        return any(kind == entity_type for kind, _ in self.parts)

    def name(self, entity_type: str) -> str | None:
        """The name for a type; None for the default and for a type that it does not have."""
        return dict(self.parts).get(entity_type)

    def __str__(self) -> str:
        entries = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in self.parts)
        return f"ClientQuotaEntity(entries={{{entries}}})"


class QuotaFilter:
    """Components of a DescribeClientQuotas request, checked as Kafka's `ClientQuotasImage.describe` checks them."""

    __slots__ = ("_exact", "_specified", "_strict")

    def __init__(self, components: Iterable[tuple[str, int, str | None]], strict: bool) -> None:
        self._exact: dict[str, str | None] = {}
        self._specified: set[str] = set()
        self._strict = strict
        for entity_type, match_type, match in components:
            self._add(entity_type, match_type, match)
        named = {*self._exact, *self._specified}
        if IP in named and len(named) > 1:
            raise errors.InvalidRequestError(
                "Invalid entity filter component combination. IP filter component should not be used with user or "
                "clientId filter component."
            )

    def _add(self, entity_type: str, match_type: int, match: str | None) -> None:
        if not entity_type:
            raise errors.InvalidRequestError("Invalid empty entity type.")
        if entity_type in self._exact or entity_type in self._specified:
            raise errors.InvalidRequestError(f"Entity type {entity_type} cannot appear more than once in the filter.")
        if entity_type not in ENTITY_TYPES:
            raise errors.UnsupportedVersionError(f"Unsupported entity type {entity_type}")
        if match_type == MATCH_EXACT:
            if match is None:
                raise errors.InvalidRequestError("Request specified MATCH_TYPE_EXACT, but set match string to null.")
            self._exact[entity_type] = match
            return
        if match_type not in (MATCH_DEFAULT, MATCH_SPECIFIED):
            raise errors.InvalidRequestError(f"Unknown match type {match_type}")
        if match is not None:
            name = "DEFAULT" if match_type == MATCH_DEFAULT else "SPECIFIED"
            raise errors.InvalidRequestError(f"Request specified MATCH_TYPE_{name}, but also specified a match string.")
        if match_type == MATCH_DEFAULT:
            self._exact[entity_type] = None
        else:
            self._specified.add(entity_type)

    def matches(self, entity: QuotaEntity) -> bool:
        """Whether an entity is described: every component fits, and, if strict, nothing but them."""
        parts = dict(entity.parts)
        if self._strict and len(parts) != len(self._exact) + len(self._specified):
            return False
        return all(kind in parts for kind in self._specified) and all(
            kind in parts and parts[kind] == name for kind, name in self._exact.items()
        )

    def select(self, client_quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> Iterator[QuotaEntity]:
        """The entities that are described."""
        return (entity for entity in client_quotas if self.matches(entity))
