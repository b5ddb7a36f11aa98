"""How commands end: failures and their exit codes.

    0 success | 1 failure or partial failure | 2 usage error | 3 unreachable or timed out | 4 denied | 130 interrupted

A failure is one line on stderr: the command, what failed, why, and what to do next. Exceptions of the client and the
operating system become failures here. Every other exception is a defect and keeps its traceback.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcore.client.errors import BrokerUnreachable

OK = 0
INTERRUPTED = 130
# The command of this process, as in `kcli topics create`: the beginning of its messages.
_command = "kcli"


class Failure(Exception):
    """The command failed, or failed in part.

    `causes` are the single failures in order: texts or exceptions. `as_kafka` is the message of Kafka's tool, where it
    differs (kcli/kafka_tools).
    """

    exit_code = 1

    def __init__(self, message: str, causes: Sequence[str | Exception] = (), *, as_kafka: str | None = None) -> None:
        super().__init__(message)
        self.causes: Sequence[str | Exception] = causes or (self,)
        self.as_kafka = as_kafka


class UsageFailure(Failure):
    """The command line, or a file that it names, is invalid."""

    exit_code = 2


class UnreachableFailure(Failure):
    """No broker answered, or none answered in time."""

    exit_code = 3


class DeniedFailure(Failure):
    """The broker or the operating system denied access, or the user declined."""

    exit_code = 4


class NotThere(Failure):
    """A topic name or pattern that matches nothing in the cluster."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def name_command(path: str) -> None:
    """Sets the command that messages begin with."""
    global _command
    _command = path


def complain(text: str) -> None:
    """Writes a message to stderr, after the name of the command. One call writes whole lines, because other threads
    write to stderr too."""
    sys.stderr.write(f"{_command}: {text}\n")
    sys.stderr.flush()


def raise_failures(failures: Sequence[str | Exception]) -> None:
    """Ends a command that failed in part: each failure is printed on a line of its own."""
    if failures:
        raise Failure("\n".join(map(text_of, failures)), tuple(failures))


def text_of(cause: str | Exception) -> str:
    """One line for a failure. Notes on an exception say what to do next."""
    return "; ".join([str(cause), *getattr(cause, "__notes__", ())])


def report(action: Callable[[], int]) -> int:
    """Runs an action. A failure is printed on stderr and becomes an exit code; a defect keeps its traceback."""
    try:
        return action()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        failure = translate(error)
        if failure is None:
            raise
        for line in map(text_of, failure.causes):
            complain(line)
        return failure.exit_code


def translate(error: Exception) -> Failure | None:
    """The failure that an exception means to the user; None for a defect."""
    from kcore.client.errors import AUTHORIZATION_CODES, BrokerUnreachable, ClientError, ClientTimeout, InvalidSetting
    from kcore.config.definition import ConfigException
    from kcore.errors import KafkaError

    if isinstance(error, Failure):
        return error
    if isinstance(error, BrokerUnreachable):
        return UnreachableFailure(_unreachable_text(error))
    if isinstance(error, (InvalidSetting, ConfigException)):
        return UsageFailure(str(error), (error,))
    if isinstance(error, ClientTimeout):
        return UnreachableFailure(str(error), (error,))
    if isinstance(error, KafkaError) and error.code in AUTHORIZATION_CODES:
        return DeniedFailure(str(error), (error,))
    if isinstance(error, (ClientError, KafkaError)):
        return Failure(str(error), (error,))
    if isinstance(error, PermissionError):
        return DeniedFailure(f"{error.filename}: permission denied. Run as its owner, or change its permissions")
    if isinstance(error, FileNotFoundError):
        return UsageFailure(f"{error.filename}: no such file or directory")
    if isinstance(error, IsADirectoryError):
        return Failure(f"cannot open {error.filename}: it is a directory. Pass a file")
    if isinstance(error, NotADirectoryError):
        parent = os.path.dirname(os.fspath(error.filename))
        return Failure(f"cannot open {error.filename}: {parent} is not a directory. Pass a directory")
    if isinstance(error, OSError) and error.filename is not None:
        return Failure(f"{error.filename}: {error.strerror}")
    return None


def _unreachable_text(error: BrokerUnreachable) -> str:
    servers = ", ".join(f"{server} ({lowered(reason)})" for server, reason in error.refusals)
    failed = f"cannot connect to {servers}" if servers else f"no broker answered: {error}"
    return f"{failed}. Is the broker running? Start one with: kcli server-start"


def lowered(reason: str) -> str:
    """A reason within a sentence: `Connection refused` is lowered, `API 3` is not."""
    return reason if reason[1:2].isupper() else reason[:1].lower() + reason[1:]
