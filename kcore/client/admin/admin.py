"""`Admin`: the admin client, with all subjects in one object.

    with Admin(bootstrap_servers="localhost:9092") as admin:
        admin.create_topics([NewTopic("orders", partitions=12)])

Concurrency: one thread at a time. It starts no threads. `kcore.client.aio.AsyncAdmin` is the asyncio version.
"""

from __future__ import annotations

from kcore.client.admin.acls import AclAdmin
from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.client_quotas import ClientQuotaAdmin
from kcore.client.admin.clusters import ClusterAdmin
from kcore.client.admin.configs import ConfigAdmin
from kcore.client.admin.features import FeatureAdmin
from kcore.client.admin.groups import GroupAdmin
from kcore.client.admin.log_dirs import LogDirAdmin
from kcore.client.admin.partitions import PartitionAdmin
from kcore.client.admin.producers import ProducerAdmin
from kcore.client.admin.records import RecordAdmin
from kcore.client.admin.scram_users import ScramUserAdmin
from kcore.client.admin.topics import TopicAdmin
from kcore.client.admin.transactions import TransactionAdmin
from kcore.client.config.client_config import AdminConfig, ClientConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self


class Admin(
    TopicAdmin,
    PartitionAdmin,
    RecordAdmin,
    ConfigAdmin,
    GroupAdmin,
    LogDirAdmin,
    FeatureAdmin,
    ClientQuotaAdmin,
    ScramUserAdmin,
    AclAdmin,
    ProducerAdmin,
    TransactionAdmin,
    ClusterAdmin,
):
    """`config` is an AdminConfig, or Kafka's properties by name. Keywords are the same names with underscores.

    Each method documents its results. Errors of a single resource are returned, those of the whole request are raised.
    """

    __slots__ = ()

    def __init__(self, config: ClientConfig | Mapping[str, Any] | None = None, **keywords: Any) -> None:
        from kcore.client.cluster_client import ClusterClient

        settled = AdminConfig.of(config, keywords)
        AdminCalls.__init__(self, ClusterClient.configured(settled), settled.number("default.api.timeout.ms"))

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
