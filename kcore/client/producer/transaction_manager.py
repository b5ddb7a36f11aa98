"""TransactionManager: the states of a transactional producer (KIP-98, KIP-360, KIP-447). No I/O.

    UNINITIALIZED -> INITIALIZING -> READY -> IN_TRANSACTION -> COMMITTING | ABORTING -> READY
    IN_TRANSACTION, COMMITTING -> ABORTABLE_ERROR -> ABORTING          any -> FATAL_ERROR

After an abortable error, `send` is refused until `abort`. The producer then takes the next epoch, so that sequence
numbers of dropped records cannot be used again. A fatal error (fenced, not authorized) ends the producer. Concurrency:
one lock; errors of batches come from the background thread.
"""

from __future__ import annotations

import threading

from kcore.client.errors import broker_error
from kcore.errors import KafkaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

UNINITIALIZED = "UNINITIALIZED"
INITIALIZING = "INITIALIZING"
READY = "READY"
IN_TRANSACTION = "IN_TRANSACTION"
COMMITTING = "COMMITTING_TRANSACTION"
ABORTING = "ABORTING_TRANSACTION"
ABORTABLE_ERROR = "ABORTABLE_ERROR"
FATAL_ERROR = "FATAL_ERROR"

# The valid previous states (TransactionManager.State.isTransitionValid).
PREDECESSORS: dict[str, tuple[str, ...]] = {
    INITIALIZING: (UNINITIALIZED, INITIALIZING, READY, ABORTING),
    READY: (INITIALIZING, COMMITTING, ABORTING),
    IN_TRANSACTION: (READY,),
    COMMITTING: (IN_TRANSACTION, COMMITTING),
    ABORTING: (IN_TRANSACTION, ABORTABLE_ERROR, ABORTING),
    ABORTABLE_ERROR: (IN_TRANSACTION, COMMITTING, ABORTABLE_ERROR),
}
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
PRODUCER_FENCED = 90
INVALID_PRODUCER_EPOCH = 47
FATAL_CODES = frozenset({31, 35, 48, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, PRODUCER_FENCED})


class InvalidTransactionState(RuntimeError):
    """The state of the transaction does not allow the method."""


class TransactionManager:
    """`producer_id` and `producer_epoch` are used in requests of the transaction."""

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.producer_id = -1
        self.producer_epoch = -1
        self.state = UNINITIALIZED
        self.error: Exception | None = None
        # Whether the coordinator has begun the transaction, and whether the next one needs another epoch.
        self.is_started = False
        self.needs_next_epoch = False
        self._partitions: set[tuple[str, int]] = set()
        self._lock = threading.Lock()

    def _go(self, target: str) -> None:
        if self.state == FATAL_ERROR:
            raise self.error or InvalidTransactionState("the producer has failed. Close it and create a new one")
        if self.state not in PREDECESSORS[target]:
            raise InvalidTransactionState(
                f"TransactionalId {self.transactional_id}: Invalid transition attempted from state {self.state} to "
                f"state {target}" + _HINTS.get(self.state, "")
            )
        self.state = target

    def check_sending(self) -> None:
        """Raise an error if `send` is not allowed in this state."""
        if self.state != IN_TRANSACTION:
            with self._lock:
                if self.state in (ABORTABLE_ERROR, FATAL_ERROR) and self.error is not None:
                    raise self.error
                raise InvalidTransactionState(
                    f"TransactionalId {self.transactional_id}: Cannot send in state {self.state}"
                    + _HINTS.get(self.state, "")
                )

    def begin_initializing(self) -> None:
        with self._lock:
            self._go(INITIALIZING)

    def initialized(self, producer_id: int, producer_epoch: int) -> None:
        with self._lock:
            self.producer_id, self.producer_epoch = producer_id, producer_epoch
            self.needs_next_epoch = False
            self._go(READY)

    def begin(self) -> None:
        with self._lock:
            self._go(IN_TRANSACTION)
            self.error = None
            self.is_started = False
            self._partitions.clear()

    def begin_committing(self) -> None:
        with self._lock:
            if self.state == ABORTABLE_ERROR and self.error is not None:
                raise self.error
            self._go(COMMITTING)

    def begin_aborting(self) -> None:
        with self._lock:
            self._go(ABORTING)

    def ended(self) -> None:
        """End the transaction. If the epoch must be raised, call `initialized` instead."""
        with self._lock:
            self._go(READY)
            self.is_started = False
            self._partitions.clear()

    # Partitions

    def new_partitions(self, partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Return the partitions that are not part of the transaction yet."""
        with self._lock:
            return [] if self.state not in (IN_TRANSACTION, COMMITTING) else sorted(set(partitions) - self._partitions)

    def added(self, partitions: Iterable[tuple[str, int]]) -> None:
        with self._lock:
            self._partitions.update(partitions)
            self.is_started = True

    def offsets_added(self) -> None:
        with self._lock:
            self.is_started = True

    # Errors

    def failed(self, error: Exception, *, is_fatal: bool = False) -> None:
        """Handle an error of a batch or of a request of the transaction."""
        with self._lock:
            if self.state == FATAL_ERROR:
                return
            if is_fatal:
                self.state = FATAL_ERROR
                self.error = error
            elif self.state in PREDECESSORS[ABORTABLE_ERROR]:
                self.error = self.error or error
                self.state = ABORTABLE_ERROR
                self.needs_next_epoch = True

    def failed_with(self, code: int, subject: str, detail: str | None = None) -> Exception:
        """Handle a broker's error code. Returns its exception."""
        error = broker_error(PRODUCER_FENCED if code == INVALID_PRODUCER_EPOCH else code, subject, detail)
        self.failed(error, is_fatal=is_fatal_code(code))
        return error


def is_fatal_code(code: int) -> bool:
    return code in FATAL_CODES or code == INVALID_PRODUCER_EPOCH


def is_fatal_error(error: BaseException) -> bool:
    return isinstance(error, KafkaError) and is_fatal_code(error.code)


_HINTS = {
    UNINITIALIZED: ": call init_transactions first",
    READY: ": call begin_transaction first",
    IN_TRANSACTION: ": commit_transaction or abort_transaction first",
    ABORTABLE_ERROR: ": call abort_transaction first",
}
