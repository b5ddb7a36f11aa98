"""Checks alterations of client quotas and computes their results (ClientQuotaControlManager).

Pure: from an entity, its current quotas and the operations to its new quotas.
"""

from __future__ import annotations

from kcore import errors
from kcore.metadata.quota_entity import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    ENTITY_TYPES,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    QuotaEntity,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# The allowed quotas of users and client ids, and those of addresses. True means an integer.
CLIENT_QUOTAS = {
    PRODUCER_BYTE_RATE: True,
    CONSUMER_BYTE_RATE: True,
    REQUEST_PERCENTAGE: False,
    CONTROLLER_MUTATION_RATE: False,
}
IP_QUOTAS = {CONNECTION_CREATION_RATE: True}
# Tolerance for an integer that is sent as a double.
EPSILON = 1e-6
INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class QuotaAlteration:
    """An entity as the request names it, and its operations: (key, value), where None removes the quota."""

    __slots__ = ("operations", "parts")

    def __init__(self, parts: Iterable[tuple[str, str | None]], operations: Iterable[tuple[str, float | None]]) -> None:
        self.parts = tuple(parts)
        self.operations = tuple(operations)

    @property
    def entity(self) -> QuotaEntity:
        """The entity. As in Kafka's map, a type that is named twice counts once."""
        return QuotaEntity(self.parts)


def plan_quotas(
    alteration: QuotaAlteration, current: Mapping[str, float], resolves: Callable[[str], bool]
) -> dict[str, float]:
    """The quotas of the entity after the operations. `resolves` says whether a name is an address or a known host.

    Raises InvalidRequestError with Kafka's message.
    """
    entity = alteration.entity
    operations = dict(alteration.operations)
    if len(operations) < len(alteration.operations):
        raise duplicate_entity(entity)
    known = allowed_quotas(entity, resolves)
    quotas = dict(current)
    for key, value in operations.items():
        if value is None:
            quotas.pop(key, None)
        else:
            check_value(known, key, value)
            quotas[key] = value
    return quotas


def duplicate_entity(entity: QuotaEntity) -> errors.KafkaError:
    """The error for an entity that is listed twice in a request, or that has a key twice."""
    return errors.InvalidRequestError(f"Ignoring duplicate entity {entity}")


def allowed_quotas(entity: QuotaEntity, resolves: Callable[[str], bool]) -> Mapping[str, bool]:
    """The allowed keys of an entity. Raises InvalidRequestError for invalid names or combinations of types."""
    for kind, name in entity.parts:
        if kind not in ENTITY_TYPES:
            raise errors.InvalidRequestError(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise errors.InvalidRequestError(f"Empty {kind} not supported")
    if entity.has(IP):
        if len(entity.parts) > 1:
            raise errors.InvalidRequestError(
                "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
            )
        address = entity.name(IP)
        if address is not None and not resolves(address):
            raise errors.InvalidRequestError(f"{address} is not a valid IP or resolvable host.")
        return IP_QUOTAS
    if not (entity.has(USER) or entity.has(CLIENT_ID)):
        raise errors.InvalidRequestError("Invalid empty client quota entity")
    return CLIENT_QUOTAS


def check_value(known: Mapping[str, bool], key: str, value: float) -> None:
    """Raises InvalidRequestError if the quota cannot have this value."""
    if key not in known:
        raise errors.InvalidRequestError(f"Invalid configuration key {key}")
    # Kafka 3.9 also accepts NaN, which no rate ever exceeds.
    if not value > 0:
        raise errors.InvalidRequestError(f"Quota {key} must be greater than 0")
    if not known[key]:
        return
    largest, kind = (INT_MAX, "an INT") if key == CONNECTION_CREATION_RATE else (LONG_MAX, "a LONG")
    if value > largest:
        raise errors.InvalidRequestError(f"Proposed value for {key} is too large for {kind}.")
    if abs(int(value + EPSILON) - value) > EPSILON:
        raise errors.InvalidRequestError(f"{key} cannot be a fractional value.")


def resolves(name: str) -> bool:
    """Whether a name is an address, or a host name that the system resolves."""
    import socket

    try:
        return bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False
