"""Every API that the codec knows: key, name, versions, and the schemas of its request and response.

A client may use, and the broker advertises, `min_version` to `max_version`. The codec reads and writes versions 0 to
`latest_version`. The minimums are those of Kafka 4.0 where it dropped older versions, except for Produce, which is
advertised from 0: otherwise older librdkafka turns compression off. EndTxn 5 belongs to transactions of version 2
(KIP-890), which need the feature `transaction.version`, so it is known but not advertised. Schemas are imported on
first use, so that a broker or a command loads only what it needs.
"""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.protocol.codec import MessageType

NEVER_FLEXIBLE = 32767
# Handler threads may request an API's schemas concurrently and must get the same message types.
_LOAD_LOCK = allocate_lock()


class Api:
    """One API. From `first_flexible` on its messages and their headers have tagged fields (KIP-482)."""

    __slots__ = (
        "_request",
        "_response",
        "first_flexible",
        "key",
        "latest_version",
        "max_version",
        "min_version",
        "name",
    )

    def __init__(
        self, key: int, name: str, min_version: int, max_version: int, first_flexible: int, latest_version: int = -1
    ) -> None:
        self.key = key
        self.name = name
        self.min_version = min_version
        self.max_version = max_version
        self.first_flexible = first_flexible
        self.latest_version = max(latest_version, max_version)
        self._request: MessageType | None = None
        self._response: MessageType | None = None

    @property
    def request(self) -> MessageType:
        if self._request is None:
            self._load()
        assert self._request is not None
        return self._request

    @property
    def response(self) -> MessageType:
        if self._response is None:
            self._load()
        assert self._response is not None
        return self._response

    def request_header_version(self, version: int) -> int:
        """Header 1 has a client id; header 2 adds tagged fields."""
        return 2 if version >= self.first_flexible else 1

    def response_header_version(self, version: int) -> int:
        """Header 1 has tagged fields. ApiVersions keeps header 0: its client knows no versions yet (KIP-511)."""
        return 1 if version >= self.first_flexible and self.key != API_VERSIONS.key else 0

    def _load(self) -> None:
        from importlib import import_module

        from kcore.protocol.codec import MessageType

        schemas = import_module(f"kcore.protocol.schemas.{_module_name(self.name)}")
        versions = (self.latest_version, self.first_flexible)
        with _LOAD_LOCK:
            if self._request is None:
                self._response = MessageType(f"{self.name}Response", schemas.RESPONSE, *versions)
                self._request = MessageType(f"{self.name}Request", schemas.REQUEST, *versions)

    def __repr__(self) -> str:
        return f"Api({self.name}, key {self.key}, versions {self.min_version}-{self.max_version})"


def _module_name(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


PRODUCE = Api(0, "Produce", 0, 11, 9)
FETCH = Api(1, "Fetch", 4, 17, 12)
LIST_OFFSETS = Api(2, "ListOffsets", 1, 10, 6)
METADATA = Api(3, "Metadata", 0, 13, 9)
OFFSET_COMMIT = Api(8, "OffsetCommit", 2, 9, 8)
OFFSET_FETCH = Api(9, "OffsetFetch", 1, 9, 6)
FIND_COORDINATOR = Api(10, "FindCoordinator", 0, 6, 3)
JOIN_GROUP = Api(11, "JoinGroup", 0, 9, 6)
HEARTBEAT = Api(12, "Heartbeat", 0, 4, 4)
LEAVE_GROUP = Api(13, "LeaveGroup", 0, 5, 4)
SYNC_GROUP = Api(14, "SyncGroup", 0, 5, 4)
DESCRIBE_GROUPS = Api(15, "DescribeGroups", 0, 6, 5)
LIST_GROUPS = Api(16, "ListGroups", 0, 5, 3)
SASL_HANDSHAKE = Api(17, "SaslHandshake", 0, 1, NEVER_FLEXIBLE)
API_VERSIONS = Api(18, "ApiVersions", 0, 4, 3)
CREATE_TOPICS = Api(19, "CreateTopics", 2, 7, 5)
DELETE_TOPICS = Api(20, "DeleteTopics", 1, 6, 4)
DELETE_RECORDS = Api(21, "DeleteRecords", 0, 2, 2)
INIT_PRODUCER_ID = Api(22, "InitProducerId", 0, 5, 2)
OFFSET_FOR_LEADER_EPOCH = Api(23, "OffsetForLeaderEpoch", 2, 4, 4)
ADD_PARTITIONS_TO_TXN = Api(24, "AddPartitionsToTxn", 0, 5, 3)
ADD_OFFSETS_TO_TXN = Api(25, "AddOffsetsToTxn", 0, 4, 3)
END_TXN = Api(26, "EndTxn", 0, 4, 3, latest_version=5)
WRITE_TXN_MARKERS = Api(27, "WriteTxnMarkers", 0, 1, 1)
TXN_OFFSET_COMMIT = Api(28, "TxnOffsetCommit", 0, 4, 3)
DESCRIBE_ACLS = Api(29, "DescribeAcls", 0, 3, 2)
CREATE_ACLS = Api(30, "CreateAcls", 0, 3, 2)
DELETE_ACLS = Api(31, "DeleteAcls", 0, 3, 2)
DESCRIBE_CONFIGS = Api(32, "DescribeConfigs", 1, 4, 4)
ALTER_CONFIGS = Api(33, "AlterConfigs", 0, 2, 2)
ALTER_REPLICA_LOG_DIRS = Api(34, "AlterReplicaLogDirs", 0, 2, 2)
DESCRIBE_LOG_DIRS = Api(35, "DescribeLogDirs", 0, 4, 2)
SASL_AUTHENTICATE = Api(36, "SaslAuthenticate", 0, 2, 2)
CREATE_PARTITIONS = Api(37, "CreatePartitions", 0, 3, 2)
DELETE_GROUPS = Api(42, "DeleteGroups", 0, 2, 2)
ELECT_LEADERS = Api(43, "ElectLeaders", 0, 2, 2)
INCREMENTAL_ALTER_CONFIGS = Api(44, "IncrementalAlterConfigs", 0, 1, 1)
ALTER_PARTITION_REASSIGNMENTS = Api(45, "AlterPartitionReassignments", 0, 0, 0)
LIST_PARTITION_REASSIGNMENTS = Api(46, "ListPartitionReassignments", 0, 0, 0)
OFFSET_DELETE = Api(47, "OffsetDelete", 0, 0, NEVER_FLEXIBLE)
DESCRIBE_CLIENT_QUOTAS = Api(48, "DescribeClientQuotas", 0, 1, 1)
ALTER_CLIENT_QUOTAS = Api(49, "AlterClientQuotas", 0, 1, 1)
DESCRIBE_USER_SCRAM_CREDENTIALS = Api(50, "DescribeUserScramCredentials", 0, 0, 0)
ALTER_USER_SCRAM_CREDENTIALS = Api(51, "AlterUserScramCredentials", 0, 0, 0)
DESCRIBE_QUORUM = Api(55, "DescribeQuorum", 0, 2, 0)
UPDATE_FEATURES = Api(57, "UpdateFeatures", 0, 2, 0)
DESCRIBE_CLUSTER = Api(60, "DescribeCluster", 0, 2, 0)
DESCRIBE_PRODUCERS = Api(61, "DescribeProducers", 0, 0, 0)
UNREGISTER_BROKER = Api(64, "UnregisterBroker", 0, 0, 0)
DESCRIBE_TRANSACTIONS = Api(65, "DescribeTransactions", 0, 0, 0)
LIST_TRANSACTIONS = Api(66, "ListTransactions", 0, 1, 0)
CONSUMER_GROUP_HEARTBEAT = Api(68, "ConsumerGroupHeartbeat", 0, 1, 0)
CONSUMER_GROUP_DESCRIBE = Api(69, "ConsumerGroupDescribe", 0, 1, 0)
LIST_CONFIG_RESOURCES = Api(74, "ListConfigResources", 0, 1, 0)
DESCRIBE_TOPIC_PARTITIONS = Api(75, "DescribeTopicPartitions", 0, 0, 0)

BY_KEY: dict[int, Api] = {api.key: api for api in tuple(globals().values()) if isinstance(api, Api)}
