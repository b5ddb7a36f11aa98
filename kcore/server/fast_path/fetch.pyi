from kcore.network.socket_server import SocketServer
from kcore.replication.replica_manager import ReplicaManager
from kcore.server.fast_path.session_cache import FetchSessionCache

class FetchPath:
    replicas: ReplicaManager

    def __init__(
        self, replicas: ReplicaManager, server: SocketServer, sessions: FetchSessionCache, fetch_max_bytes: int
    ) -> None: ...
    def install(self) -> None: ...
