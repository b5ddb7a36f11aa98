"""Errors of clients, in addition to brokers' errors, which are the classes of kcore.errors (KafkaError)."""

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
    """A request failed, and not because of a broker's error."""

    retriable = False


class InvalidSetting(ClientError, ValueError):
    """An option of a client is invalid."""


class BrokerUnreachable(ClientError):
    """No connection could be established, or the current one ended.

    If every server was tried, `refusals` has the servers that could not be connected to, each with the reason.
    """

    retriable = True

    def __init__(self, message: str, refusals: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.refusals = refusals


class ClientTimeout(ClientError):
    """No response arrived in time. The request may have been executed."""

    retriable = True


class UnsupportedByBroker(ClientError):
    """The broker and this client have no common version of an API."""


class UnknownTopic(ClientError):
    """The topic does not exist, and its creation was not requested. Commands and clients show the same text."""

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"topic {topic} does not exist. Check the name with `kcli topics list`, or create it with `kcli topics "
            f"create {topic}` (in Python: Admin.list_topics, Admin.create_topics)"
        )


class UnknownPartition(ClientError):
    """The topic does not have this partition."""

    def __init__(self, topic: str, partition: int, partition_count: int) -> None:
        super().__init__(
            f"partition {partition} of topic {topic}: the topic has the partitions 0 to {partition_count - 1}"
        )


class RecordTooLarge(ClientError):
    """A record exceeds the maximum request size."""


def broker_error(code: int, subject: str, detail: str | None = None) -> KafkaError:
    """Return the exception for an error code other than NONE. `subject` is the topic, group or broker concerned."""
    kind = by_code(code)
    error = kind(f"{subject}: {detail or kind.description} ({kind.name})")
    vars(error)[_BROKER_MESSAGE] = detail or kind.description
    return error


def broker_message(error: Exception) -> str:
    """Return the broker's message without the subject; for other errors, their text."""
    return str(vars(error).get(_BROKER_MESSAGE, error))
