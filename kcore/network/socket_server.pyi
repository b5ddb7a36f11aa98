from kcore.network.dispatch import DispatchTable
from kcore.network.request import ResponseSink
from kcore.network.request_channel import RequestChannel
from kcore.platform.disk import Disk
from kcore.quota.client_quota_manager import ClientQuotaManager
from kcore.transport.byte_stream import StreamFactory

COUNTERS: tuple[str, ...]

class SocketServer(ResponseSink):
    def __init__(
        self,
        listeners: list[tuple[str, str, int]],
        disk: Disk,
        channel: RequestChannel,
        dispatch: DispatchTable,
        *,
        num_network_threads: int = 3,
        max_request_bytes: int = 104857600,
        max_idle_ms: int = 600000,
        max_connections: int = 2147483647,
        send_buffer_bytes: int = -1,
        receive_buffer_bytes: int = -1,
        backlog: int = 50,
        spin_us: int = 0,
        free_buffer_bytes: int = 16777216,
        buffer_idle_ms: int = 10000,
        factories: list[StreamFactory] | None = None,
        quotas: ClientQuotaManager | None = None,
    ) -> None: ...
    def bind(self) -> None: ...
    def start(self) -> None: ...
    def bound_addresses(self) -> list[tuple[str, str, int]]: ...
    def stop_accepting(self) -> None: ...
    def shutdown(self, timeout_ms: int = 5000) -> None: ...
    def connection_count(self) -> int: ...
    def close_connection(self, connection: int) -> None: ...
    def counters(self) -> dict[str, int]: ...
    def free_buffer_bytes(self) -> int: ...
    def processor_idle_ns(self) -> list[int]: ...
