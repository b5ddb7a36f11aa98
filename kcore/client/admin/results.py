"""Results and failures of admin requests.

dict[what was asked about, result | Failure]        None where there is nothing to tell but that it was done
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

# What kept a part of a request from being done: a broker's answer, or that none could be asked.
Failure = KafkaError | ClientError


def failure_of(code: int, subject: str, detail: str | None = None) -> KafkaError | None:
    """The failure that a code stands for; None for NONE."""
    return broker_error(code, subject, detail) if code else None


def raise_failure(code: int, subject: str, detail: str | None = None) -> None:
    """Raises what a code stands for, unless that is NONE."""
    if code:
        raise broker_error(code, subject, detail)


def mapped(results: Mapping[Key, Result | Failure], convert: Callable[[Result], Other]) -> dict[Key, Other | Failure]:
    """The results converted, and the failures as they are."""
    return {
        key: result if isinstance(result, (KafkaError, ClientError)) else convert(result)
        for key, result in results.items()
    }


def as_asked(keys: Iterable[Key], results: Mapping[Key, Result]) -> dict[Key, Result | ClientError]:
    """The results in the order in which they were asked for, whatever order the broker has; none is missing."""
    return {
        key: results[key] if key in results else ClientError(f"{key}: the broker's response does not contain it")
        for key in keys
    }


def succeeded(results: Mapping[Key, Result | Failure]) -> dict[Key, Result]:
    """What did not fail."""
    return {key: result for key, result in results.items() if not isinstance(result, (KafkaError, ClientError))}


def failures(results: Mapping[Key, Result | Failure]) -> dict[Key, Failure]:
    """What failed, and why."""
    return {key: result for key, result in results.items() if isinstance(result, (KafkaError, ClientError))}


def raise_first(results: Mapping[Key, Result | Failure]) -> None:
    """Raises the first failure there is."""
    for failure in failures(results).values():
        raise failure


def only(results: Mapping[Key, Result | Failure]) -> Result:
    """The one result there is; its failure is raised."""
    [result] = results.values()
    if isinstance(result, (KafkaError, ClientError)):
        raise result
    return result
