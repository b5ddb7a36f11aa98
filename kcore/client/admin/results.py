"""Results and failures of admin requests.

dict[resource, result | Failure]        The result is None if there is nothing to return.
"""

from __future__ import annotations

from kcore.client.errors import ClientError, broker_error
from kcore.errors import KafkaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeVar

    Key = TypeVar("Key")
    Result = TypeVar("Result")
    Other = TypeVar("Other")

# Why a resource's request failed: a broker's error, or an error of the client.
Failure = KafkaError | ClientError


def failure_of(code: int, subject: str, detail: str | None = None) -> KafkaError | None:
    """Return the failure for an error code; None for NONE."""
    return broker_error(code, subject, detail) if code else None


def raise_failure(code: int, subject: str, detail: str | None = None) -> None:
    """Raise the error for a code, unless it is NONE."""
    if code:
        raise broker_error(code, subject, detail)


def mapped(results: Mapping[Key, Result | Failure], convert: Callable[[Result], Other]) -> dict[Key, Other | Failure]:
    """Convert the results and keep the failures."""
    return {
        key: result if isinstance(result, (KafkaError, ClientError)) else convert(result)
        for key, result in results.items()
    }


def as_asked(keys: Iterable[Key], results: Mapping[Key, Result]) -> dict[Key, Result | ClientError]:
    """Return the results in the order of `keys`. A missing result becomes a failure."""
    return {
        key: results[key] if key in results else ClientError(f"{key}: the broker's response does not contain it")
        for key in keys
    }


def succeeded(results: Mapping[Key, Result | Failure]) -> dict[Key, Result]:
    """Return the results that are not failures."""
    return {key: result for key, result in results.items() if not isinstance(result, (KafkaError, ClientError))}


def failures(results: Mapping[Key, Result | Failure]) -> dict[Key, Failure]:
    """Return the failures."""
    return {key: result for key, result in results.items() if isinstance(result, (KafkaError, ClientError))}


def raise_first(results: Mapping[Key, Result | Failure]) -> None:
    """Raise the first failure, if there is one."""
    for failure in failures(results).values():
        raise failure


def only(results: Mapping[Key, Result | Failure]) -> Result:
    """Return the only result, or raise its failure."""
    [result] = results.values()
    if isinstance(result, (KafkaError, ClientError)):
        raise result
    return result
