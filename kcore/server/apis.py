"""The table of APIs: the keys and versions that this broker serves, and the handler module of each.

A handler module is imported by the first request of its API, which keeps the start fast. ApiVersions advertises Produce
from version 0, although the broker serves versions from 3 on: librdkafka before 2.4 disables compression if the lowest
version is higher (KAFKA-18659). Clients that use record format 2 never send the lower versions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PRODUCE = 0
FETCH = 1
API_VERSIONS = 18


class ApiEntry:
    """One API: the versions served, and its handler, a module in `handlers/`."""

    __slots__ = ("_module", "advertised_min_version", "key", "max_version", "min_version", "module_name")

    def __init__(
        self, key: int, min_version: int, max_version: int, module_name: str, advertised_min_version: int | None = None
    ) -> None:
        self.key = key
        self.min_version = min_version
        self.max_version = max_version
        self.module_name = module_name
        self.advertised_min_version = min_version if advertised_min_version is None else advertised_min_version
        self._module: ModuleType | None = None

    def serves(self, version: int) -> bool:
        """Whether the broker answers requests of this version."""
        return self.min_version <= version <= self.max_version

    @property
    def handler(self) -> ModuleType:
        """The handler module. The first access imports it."""
        module = self._module
        if module is None:
            from importlib import import_module

            module = self._module = import_module(f"kcore.server.handlers.{self.module_name}")
        return module


TABLE = (
    ApiEntry(PRODUCE, 3, 11, "produce", advertised_min_version=0),
    ApiEntry(FETCH, 4, 17, "fetch"),
    ApiEntry(2, 1, 10, "list_offsets"),
    ApiEntry(3, 0, 13, "metadata"),
    ApiEntry(8, 2, 9, "offset_commit"),
    ApiEntry(9, 1, 9, "offset_fetch"),
    ApiEntry(10, 0, 6, "find_coordinator"),
    ApiEntry(11, 0, 9, "join_group"),
    ApiEntry(12, 0, 4, "heartbeat"),
    ApiEntry(13, 0, 5, "leave_group"),
    ApiEntry(14, 0, 5, "sync_group"),
    ApiEntry(15, 0, 6, "describe_groups"),
    ApiEntry(16, 0, 5, "list_groups"),
    ApiEntry(API_VERSIONS, 0, 4, "api_versions"),
    ApiEntry(19, 2, 7, "create_topics"),
    ApiEntry(20, 1, 6, "delete_topics"),
    ApiEntry(21, 0, 2, "delete_records"),
    ApiEntry(22, 0, 5, "init_producer_id"),
    ApiEntry(23, 2, 4, "offset_for_leader_epoch"),
    ApiEntry(27, 1, 1, "write_txn_markers"),
    ApiEntry(32, 1, 4, "describe_configs"),
    ApiEntry(33, 0, 2, "alter_configs"),
    ApiEntry(35, 0, 4, "describe_log_dirs"),
    ApiEntry(37, 0, 3, "create_partitions"),
    ApiEntry(42, 0, 2, "delete_groups"),
    ApiEntry(43, 0, 2, "elect_leaders"),
    ApiEntry(44, 0, 1, "incremental_alter_configs"),
    ApiEntry(45, 0, 0, "alter_partition_reassignments"),
    ApiEntry(46, 0, 0, "list_partition_reassignments"),
    ApiEntry(47, 0, 0, "offset_delete"),
    ApiEntry(48, 0, 1, "describe_client_quotas"),
    ApiEntry(49, 0, 1, "alter_client_quotas"),
    ApiEntry(50, 0, 0, "describe_user_scram_credentials"),
    ApiEntry(57, 0, 2, "update_features"),
    ApiEntry(60, 0, 2, "describe_cluster"),
    ApiEntry(61, 0, 0, "describe_producers"),
    ApiEntry(65, 0, 0, "describe_transactions"),
    ApiEntry(66, 0, 1, "list_transactions"),
    ApiEntry(68, 0, 1, "consumer_group_heartbeat"),
    ApiEntry(69, 0, 1, "consumer_group_describe"),
    ApiEntry(74, 0, 1, "list_config_resources"),
    ApiEntry(75, 0, 0, "describe_topic_partitions"),
)
BY_KEY = {entry.key: entry for entry in TABLE}


def advertised() -> Iterator[dict[str, int]]:
    """The rows of an ApiVersions response."""
    for entry in TABLE:
        yield {
            "api_key": entry.key,
            "min_version": entry.advertised_min_version,
            "max_version": entry.max_version,
        }
