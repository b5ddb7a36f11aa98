"""Access control entries: DescribeAcls, CreateAcls, DeleteAcls (KIP-140, KIP-290, KIP-373)."""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.results import failure_of, raise_failure
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kcore.client.admin.results import Failure
    from kcore.protocol.message import Message

# Names of Kafka's tools, and their numbers. ANY is for filters only.
RESOURCE_TYPES = {
    "ANY": 1,
    "TOPIC": 2,
    "GROUP": 3,
    "CLUSTER": 4,
    "TRANSACTIONAL_ID": 5,
    "DELEGATION_TOKEN": 6,
    "USER": 7,
}
PATTERN_TYPES = {"ANY": 1, "MATCH": 2, "LITERAL": 3, "PREFIXED": 4}
OPERATIONS = {
    "ANY": 1,
    "ALL": 2,
    "READ": 3,
    "WRITE": 4,
    "CREATE": 5,
    "DELETE": 6,
    "ALTER": 7,
    "DESCRIBE": 8,
    "CLUSTER_ACTION": 9,
    "DESCRIBE_CONFIGS": 10,
    "ALTER_CONFIGS": 11,
    "IDEMPOTENT_WRITE": 12,
    "CREATE_TOKENS": 13,
    "DESCRIBE_TOKENS": 14,
    "TWO_PHASE_COMMIT": 15,
}
PERMISSIONS = {"ANY": 1, "DENY": 2, "ALLOW": 3}
UNKNOWN = "UNKNOWN"


class Acl(NamedTuple):
    """Allows or denies a principal, such as User:alice, an operation on resources. Host * means any host."""

    resource_type: str
    resource_name: str
    principal: str
    operation: str
    permission: str = "ALLOW"
    host: str = "*"
    pattern_type: str = "LITERAL"


class AclFilter(NamedTuple):
    """Selects entries. None and ANY match all. MATCH selects all patterns that match a name."""

    resource_type: str = "ANY"
    resource_name: str | None = None
    principal: str | None = None
    operation: str = "ANY"
    permission: str = "ANY"
    host: str | None = None
    pattern_type: str = "ANY"


EVERY_ACL = AclFilter()


class AclAdmin(AdminCalls):
    __slots__ = ()

    def describe_acls(self, wanted: AclFilter = EVERY_ACL) -> list[Acl]:
        """Return the entries that match a filter."""
        response = self._request(apis.DESCRIBE_ACLS, _filter_row(wanted))
        raise_failure(response.error_code, "access control entries", response.error_message)
        return [_acl(resource, acl) for resource in response.resources for acl in resource.acls]

    def create_acls(self, acls: Sequence[Acl]) -> dict[Acl, Failure | None]:
        """Create entries. Succeeds for an entry that exists already."""
        rows = [
            {
                "resource_type": RESOURCE_TYPES[acl.resource_type],
                "resource_name": acl.resource_name,
                "resource_pattern_type": PATTERN_TYPES[acl.pattern_type],
                "principal": acl.principal,
                "host": acl.host,
                "operation": OPERATIONS[acl.operation],
                "permission_type": PERMISSIONS[acl.permission],
            }
            for acl in acls
        ]
        response = self._ask_controller(
            apis.CREATE_ACLS, {"creations": rows}, lambda answer: (result.error_code for result in answer.results)
        )
        return {
            acl: failure_of(result.error_code, "access control entry", result.error_message)
            for acl, result in zip(acls, response.results, strict=True)
        }

    def delete_acls(self, filters: Sequence[AclFilter]) -> dict[AclFilter, dict[Acl, Failure | None] | Failure]:
        """Delete the entries that match each filter, and return them."""
        response = self._ask_controller(
            apis.DELETE_ACLS,
            {"filters": [_filter_row(each) for each in filters]},
            lambda answer: (result.error_code for result in answer.filter_results),
        )
        deleted: dict[AclFilter, dict[Acl, Failure | None] | Failure] = {}
        for each, result in zip(filters, response.filter_results, strict=True):
            failure = failure_of(result.error_code, "access control entries", result.error_message)
            deleted[each] = failure or {
                _acl(acl, acl): failure_of(acl.error_code, "access control entry", acl.error_message)
                for acl in result.matching_acls
            }
        return deleted


def _filter_row(wanted: AclFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": RESOURCE_TYPES[wanted.resource_type],
        "resource_name_filter": wanted.resource_name,
        "pattern_type_filter": PATTERN_TYPES[wanted.pattern_type],
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": OPERATIONS[wanted.operation],
        "permission_type": PERMISSIONS[wanted.permission],
    }


def _acl(resource: Message, acl: Message) -> Acl:
    return Acl(
        _name(RESOURCE_TYPES, resource.resource_type),
        resource.resource_name,
        acl.principal,
        _name(OPERATIONS, acl.operation),
        _name(PERMISSIONS, acl.permission_type),
        acl.host,
        _name(PATTERN_TYPES, resource.pattern_type),
    )


def _name(numbers: dict[str, int], number: int) -> str:
    return next((name for name, known in numbers.items() if known == number), UNKNOWN)
