from kcore.network.socket_server import SocketServer
from kcore.replication.replica_manager import ReplicaManager

class ProducePath:
    replicas: ReplicaManager

    def __init__(self, replicas: ReplicaManager, server: SocketServer, inline_bytes: int) -> None: ...
    def install(self) -> None: ...
