from kcore.platform.disk import Disk

PRODUCE: int
FETCH: int
REQUEST: int
CONTROLLER_MUTATION: int
ANONYMOUS: str

class ClientQuotaManager:
    def __init__(
        self, disk: Disk, windows: int = 11, window_s: int = 1, mutation_windows: int = 11, mutation_window_s: int = 1
    ) -> None: ...
    def replace_limits(self, limits: list[tuple[int, str | None, str | None, float]]) -> None: ...
    def enables(self, type: int) -> bool: ...
    def charge_client(
        self,
        type: int,
        user: str,
        client_id: str | None,
        amount: float,
        now_ms: int | None = None,
        strictly: bool = False,
    ) -> int: ...
    def most_at_once_for(self, type: int, user: str, client_id: str | None, now_ms: int | None = None) -> float: ...
    def tokens_of(
        self, type: int, user: str, client_id: str | None, now_ms: int | None = None
    ) -> tuple[float, float] | None: ...
    @property
    def client_count(self) -> int: ...
    @property
    def sensor_count(self) -> int: ...
