"""An in-memory metadata store. Committed changes survive the store object.

`MemoryMetadata` takes the place of the disk. A simulated crash drops the store and opens a new one over the same
`MemoryMetadata`. A `before_commit` that raises simulates a crash or a full disk just before the commit.
"""

from __future__ import annotations

from kcore import errors
from kcore.controller.local_store import LocalMetadataStore, StoredState
from kcore.metadata.image import MetadataImage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.controller.local_store import Transaction


class MemoryMetadata:
    """The committed state, or None before a store was created."""

    __slots__ = ("before_commit", "state")

    def __init__(self, before_commit: Callable[[Transaction], None] | None = None) -> None:
        self.state: StoredState | None = None
        self.before_commit = before_commit


class MemoryMetadataStore(LocalMetadataStore):
    """A store with the rules of the embedded one, over a `MemoryMetadata`."""

    __slots__ = ("_metadata",)

    def __init__(self, metadata: MemoryMetadata | None = None) -> None:
        super().__init__()
        self._metadata = metadata if metadata is not None else MemoryMetadata()

    @property
    def name(self) -> str:
        return "The in-memory metadata store"

    def _load(self) -> StoredState | None:
        state = self._metadata.state
        if state is None:
            return None
        # Registrations end with their session.
        image = state.image
        return state.replace(image=image.replace(brokers={}, controller_id=-1))

    def _create(self, cluster_id: str) -> None:
        self._metadata.state = StoredState(MetadataImage(cluster_id))

    def _write(self, transaction: Transaction) -> None:
        state = self._metadata.state
        assert state is not None, "an open store has a state"
        if transaction.expected_epoch is not None and transaction.expected_epoch != state.controller_epoch:
            raise errors.StaleControllerEpochError(
                f"Controller epoch {transaction.expected_epoch} was followed by {state.controller_epoch}."
            )
        if self._metadata.before_commit is not None:
            self._metadata.before_commit(transaction)
        self._metadata.state = state.apply(transaction)

    def set_aside(self) -> str:
        self._metadata.state = None
        return self.name

    def _release(self) -> None:
        """Does nothing: there are no resources to release."""
