class RequestRing:
    def configure(self, capacity: int, takes_all: bool, slow_ms: int) -> None: ...
    def take(self) -> list[LoggedRequest]: ...
    @property
    def lost_requests(self) -> int: ...

class LoggedRequest:
    api_key: int
    api_version: int
    client: str
    client_id: str | None
    connection: int
    correlation_id: int
    listener: int
    local: str
    local_ms: float
    queue_ms: float
    remote_ms: float
    request_bytes: int
    response_bytes: int
    response_queue_ms: float
    send_ms: float
    throttle_ms: int
    total_ms: float
