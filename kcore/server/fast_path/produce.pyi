from kcore.network.socket_server import SocketServer
from kcore.replication.replica_manager import ReplicaManager

class ProducePath:
    replicas: ReplicaManager

    def __init__(self, replicas: ReplicaManager, server: SocketServer) -> None: ...
    def install(self) -> None: ...
