"""SCRAM credentials of users: DescribeUserScramCredentials, AlterUserScramCredentials (KIP-554).

Passwords are salted and hashed before they are sent (RFC 5802).
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.results import failure_of, raise_failure
from kcore.client.errors import InvalidSetting
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kcore.client.admin.results import Failure

SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
MECHANISM_NUMBERS = {name: number for number, name in SCRAM_MECHANISMS.items()}
HASHES = {1: "sha256", 2: "sha512"}
DEFAULT_ITERATIONS = 8192
SALT_BYTES = 32


class ScramCredential(NamedTuple):
    """One of a user's credentials. Brokers do not return the secret parts."""

    mechanism: str
    iterations: int


class NewScramCredential(NamedTuple):
    """A user's new password for a mechanism. Default: a random salt."""

    user: str
    mechanism: str
    password: str
    iterations: int = DEFAULT_ITERATIONS
    salt: bytes | None = None


class ScramUserAdmin(AdminCalls):
    __slots__ = ()

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> dict[str, list[ScramCredential] | Failure]:
        """Return the credentials of users. Default: all users with credentials."""
        fields = {"users": None if users is None else [{"name": user} for user in users]}
        response = self._request(apis.DESCRIBE_USER_SCRAM_CREDENTIALS, fields)
        raise_failure(response.error_code, "SCRAM credentials", response.error_message)
        return {
            result.user: failure_of(result.error_code, f"user {result.user}", result.error_message)
            or sorted(
                ScramCredential(SCRAM_MECHANISMS.get(info.mechanism, "UNKNOWN"), info.iterations)
                for info in result.credential_infos
            )
            for result in response.results
        }

    def alter_user_scram_credentials(
        self, upsertions: Iterable[NewScramCredential] = (), deletions: Iterable[tuple[str, str]] = ()
    ) -> dict[str, Failure | None]:
        """Set credentials, and delete those of (user, mechanism). All changes of a user succeed, or none."""
        fields = {
            "upsertions": [_upsertion(new) for new in upsertions],
            "deletions": [{"name": user, "mechanism": _mechanism(name)} for user, name in deletions],
        }
        response = self._ask_controller(
            apis.ALTER_USER_SCRAM_CREDENTIALS, fields, lambda answer: (result.error_code for result in answer.results)
        )
        return {
            result.user: failure_of(result.error_code, f"user {result.user}", result.error_message)
            for result in response.results
        }


def _mechanism(name: str) -> int:
    if name not in MECHANISM_NUMBERS:
        raise InvalidSetting(f"SCRAM mechanism {name}: must be one of {', '.join(MECHANISM_NUMBERS)}")
    return MECHANISM_NUMBERS[name]


def _upsertion(new: NewScramCredential) -> dict[str, Any]:
    """Return the request for a new password. It is salted with Hi(password, salt, iterations), which is PBKDF2."""
    import hashlib
    import os

    number = _mechanism(new.mechanism)
    salt = os.urandom(SALT_BYTES) if new.salt is None else new.salt
    salted = hashlib.pbkdf2_hmac(HASHES[number], new.password.encode(), salt, new.iterations)
    return {
        "name": new.user,
        "mechanism": number,
        "iterations": new.iterations,
        "salt": salt,
        "salted_password": salted,
    }
