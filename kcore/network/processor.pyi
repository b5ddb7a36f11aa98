from kcore.network.connection_quotas import ConnectionQuotas
from kcore.network.dispatch import DispatchTable
from kcore.network.request_channel import RequestChannel
from kcore.platform.disk import Disk
from kcore.quota.client_quota_manager import ClientQuotaManager
from kcore.transport.byte_stream import StreamFactory

class Processor:
    def __init__(
        self,
        index: int,
        channel: RequestChannel,
        dispatch: DispatchTable,
        disk: Disk,
        quotas: ClientQuotaManager,
        connection_quotas: ConnectionQuotas,
        factories: list[StreamFactory],
    ) -> None: ...
    def run(self) -> None: ...
