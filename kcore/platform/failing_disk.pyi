from collections.abc import Iterable

from kcore.platform.disk import Disk

OPERATIONS: tuple[str, ...]
CHANGES: tuple[str, ...]

class FailingDisk(Disk):
    inner: Disk

    def __init__(self, inner: Disk, seed: int = 0) -> None: ...
    def fail(
        self,
        operations: Iterable[str],
        error: int = 5,
        *,
        path: str = "*",
        at: int = 1,
        times: int | None = 1,
        chance: float = 1.0,
        short: bool = False,
        done: bool = False,
    ) -> None: ...
    def crash_at(self, change: int) -> None: ...
    def crash(self) -> None: ...
    def heal(self) -> None: ...
    @property
    def has_crashed(self) -> bool: ...
    @property
    def changes(self) -> int: ...
    @property
    def injected(self) -> int: ...
    def recent_changes(self) -> list[tuple[str, str]]: ...
