"""What a command can end with, and the exit code that each end owns.

    0 ok | 1 failed, or partly | 2 usage | 3 unreachable or timed out | 4 denied | 130 interrupted

A failure is one line on stderr that names the thing, the rule it broke and the remedy. What the client and the
operating system raise is translated here, once, at the edge; anything else is a defect and keeps its traceback.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OK = 0
INTERRUPTED = 130


class Failure(Exception):
    """The command could not do, or not wholly do, what it was asked for."""

    exit_code = 1


class UsageFailure(Failure):
    """The command line or a file that it names makes no sense."""

    exit_code = 2


class UnreachableFailure(Failure):
    """No broker answered, or not in time."""

    exit_code = 3


class DeniedFailure(Failure):
    """The broker, the operating system or the user said no."""

    exit_code = 4


def raise_failures(failures: list[str]) -> None:
    """Ends a command that failed in parts: every failure gets its line, and the last one ends it."""
    for failure in failures[:-1]:
        print(f"kcli: {failure}", file=sys.stderr)
    if failures:
        raise Failure(failures[-1])


def report(action: Callable[[], int]) -> int:
    """Runs an action; a failure becomes its line on stderr and its exit code, a defect keeps its traceback."""
    try:
        return action()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        failure = translate(error)
        if failure is None:
            raise
        print(f"kcli: {failure}", file=sys.stderr)
        return failure.exit_code


def translate(error: Exception) -> Failure | None:
    """The failure that an exception from below means to the user; None for a defect."""
    from kcore.client.errors import AUTHORIZATION_CODES, BrokerUnreachable, ClientError, ClientTimeout, InvalidSetting
    from kcore.errors import KafkaError

    if isinstance(error, Failure):
        return error
    if isinstance(error, BrokerUnreachable):
        return UnreachableFailure(f"no broker answers: {error}; is it running (`kcli server-start`)?")
    if isinstance(error, InvalidSetting):
        return UsageFailure(str(error))
    if isinstance(error, ClientTimeout):
        return UnreachableFailure(str(error))
    if isinstance(error, KafkaError) and error.code in AUTHORIZATION_CODES:
        return DeniedFailure(str(error))
    if isinstance(error, (ClientError, KafkaError)):
        return Failure(str(error))
    if isinstance(error, PermissionError):
        return DeniedFailure(f"{error.filename}: permission denied; run as its owner, or change its mode")
    if isinstance(error, FileNotFoundError):
        return UsageFailure(f"{error.filename}: no such file or directory")
    if isinstance(error, OSError) and error.filename is not None:
        return Failure(f"{error.filename}: {error.strerror}")
    return None
