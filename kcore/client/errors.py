"""What the client raises besides a broker's own answers, which are the classes of kcore.errors (KafkaError)."""

from __future__ import annotations

from kcore.errors import KafkaError, by_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NONE = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
LEADER_NOT_AVAILABLE = 5
_BROKER_MESSAGE = "broker_message"
AUTHORIZATION_CODES = frozenset({29, 30, 31, 53, 58, 65})


class ClientError(Exception):
    """Something that the caller asked of a cluster did not happen, and no broker said why."""

    retriable = False


class InvalidSetting(ClientError, ValueError):
    """An option of a client that has no meaning."""


class BrokerUnreachable(ClientError):
    """No connection could be made, or the one in use ended.

    `refusals` are the servers that no connection could be made to, each with the reason, where every one was tried.
    """

    retriable = True

    def __init__(self, message: str, refusals: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.refusals = refusals


class ClientTimeout(ClientError):
    """The answer did not come in time; whether the request was carried out is not known."""

    retriable = True


class UnsupportedByBroker(ClientError):
    """The broker speaks no version of an API that this client can speak."""


class UnknownTopic(ClientError):
    """A topic that the cluster does not have, and that nobody asked it to create."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"topic {topic}: the cluster has no such topic; create it with `kcli topics create {topic}`")


class UnknownPartition(ClientError):
    """A partition beyond those that its topic has."""

    def __init__(self, topic: str, partition: int, partition_count: int) -> None:
        super().__init__(
            f"partition {partition} of topic {topic}: the topic has the partitions 0 to {partition_count - 1}"
        )


class RecordTooLarge(ClientError):
    """A record that no request may carry."""


def broker_error(code: int, subject: str, detail: str | None = None) -> KafkaError:
    """The exception of a code other than NONE; `subject` names the topic, group or broker that it is about."""
    kind = by_code(code)
    error = kind(f"{subject}: {detail or kind.description} ({kind.name})")
    vars(error)[_BROKER_MESSAGE] = detail or kind.description
    return error


def broker_message(error: Exception) -> str:
    """What the broker said, without what it is about; of any other error its text."""
    return str(vars(error).get(_BROKER_MESSAGE, error))
