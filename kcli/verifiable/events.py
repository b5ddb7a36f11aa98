"""Events as lines of JSON on standard output: `timestamp` in ms, `name`, then the fields of the event.

Lines are complete and flushed, from any thread. Source: VerifiableProducer and VerifiableConsumer of Kafka 3.9 and 4,
whose events have these fields in this order.
"""

from __future__ import annotations

import signal
import sys
import threading
import time

from kcli.output import to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

# Exit code after a signal: this plus the signal number, as in shells.
SIGNAL_EXIT = 128
JAVA_ERRORS = "org.apache.kafka.common.errors."
# Java exceptions whose names differ from the error names (`Errors`).
JAVA_NAMES = {
    "MESSAGE_TOO_LARGE": "RecordTooLarge",
    "REQUEST_TIMED_OUT": "Timeout",
    "CORRUPT_MESSAGE": "CorruptRecord",
    "RECORD_LIST_TOO_LARGE": "RecordBatchTooLarge",
    "UNKNOWN_SERVER_ERROR": "UnknownServer",
    "INVALID_TOPIC_EXCEPTION": "InvalidTopic",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "OutOfOrderSequence",
    "NETWORK_EXCEPTION": "Network",
    "KAFKA_STORAGE_ERROR": "KafkaStorage",
    "DUPLICATE_SEQUENCE_NUMBER": "DuplicateSequence",
    "UNKNOWN_PRODUCER_ID": "UnknownProducerId",
}


class Terminated(BaseException):
    """A signal arrived: records in flight are completed, then the program ends."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = SIGNAL_EXIT + number


class EventWriter:
    """`write("startup_complete")`. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def write(self, name: str, **fields: Any) -> None:
        event = {"timestamp": int(time.time() * 1000), "name": name, **fields}
        with self._lock:
            sys.stdout.write(to_json(event) + "\n")
            sys.stdout.flush()


def on_signals(act: Callable[[int], object]) -> None:
    """The first SIGTERM or SIGINT calls `act` on the main thread; later ones are ignored."""

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        act(number)

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)


def terminate(number: int) -> None:
    raise Terminated(number)


def java_class(error: Exception) -> str:
    """The name of the exception in Java's tool, which programs look for."""
    from kcore.client.errors import ClientTimeout, RecordTooLarge
    from kcore.errors import KafkaError

    if isinstance(error, KafkaError):
        name = JAVA_NAMES.get(error.name) or _camel_case(error.name.removesuffix("_FAILED"))
        return f"class {JAVA_ERRORS}{name}Exception"
    if isinstance(error, RecordTooLarge):
        return f"class {JAVA_ERRORS}RecordTooLargeException"
    if isinstance(error, ClientTimeout):
        return f"class {JAVA_ERRORS}TimeoutException"
    return "class org.apache.kafka.common.KafkaException"


def _camel_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
