"""Kafka's wire errors: a table of code, name, retriability and meaning, and an exception class for each row.

`errors.UnknownTopicOrPartitionError` is the class of row `UNKNOWN_TOPIC_OR_PARTITION`: the name in camel case, with a
final `_EXCEPTION` or `_ERROR` replaced by `Error`. Classes are created on first use, because a starting broker needs
none of them. Codes and retriability are those of Kafka's `Errors` enum (4.1). The texts are our own, except where an
admin client shows them (tests/interop/admin_scenario). Code without the GIL uses the same codes from errors.pxd; a test
compares the two.
"""

from __future__ import annotations

NONE = 0

# Code, name, retriable, meaning.
TABLE: tuple[tuple[int, str, bool, str], ...] = (
    (-1, "UNKNOWN_SERVER_ERROR", False, "The broker failed unexpectedly. See its log for the cause."),
    (0, "NONE", False, "No error."),
    (1, "OFFSET_OUT_OF_RANGE", False, "The offset is before the start or beyond the end of the log."),
    (2, "CORRUPT_MESSAGE", True, "A record batch has a wrong checksum or size, or its bytes cannot be read."),
    (3, "UNKNOWN_TOPIC_OR_PARTITION", True, "This server does not host this topic-partition."),
    (4, "INVALID_FETCH_SIZE", False, "The number of bytes to fetch is not valid."),
    (5, "LEADER_NOT_AVAILABLE", True, "The partition has no leader at the moment."),
    (6, "NOT_LEADER_OR_FOLLOWER", True, "This broker is not the leader, or has no replica, of the partition."),
    (7, "REQUEST_TIMED_OUT", True, "The request was not completed within its timeout."),
    (8, "BROKER_NOT_AVAILABLE", False, "The broker is not available."),
    (9, "REPLICA_NOT_AVAILABLE", True, "The replica of the partition is not available on this broker."),
    (10, "MESSAGE_TOO_LARGE", False, "A record batch is larger than the topic or the broker allows."),
    (11, "STALE_CONTROLLER_EPOCH", False, "Another broker has become the controller."),
    (12, "OFFSET_METADATA_TOO_LARGE", False, "The metadata text of a committed offset is too long."),
    (13, "NETWORK_EXCEPTION", True, "The connection ended before a response arrived."),
    (14, "COORDINATOR_LOAD_IN_PROGRESS", True, "The coordinator is still reading its state from the log."),
    (15, "COORDINATOR_NOT_AVAILABLE", True, "No coordinator is available."),
    (16, "NOT_COORDINATOR", True, "This broker does not coordinate that group or transactional id."),
    (17, "INVALID_TOPIC_EXCEPTION", False, "The topic's name is not valid, or the topic does not allow the operation."),
    (18, "RECORD_LIST_TOO_LARGE", False, "The record batches are larger than a segment."),
    (
        19,
        "NOT_ENOUGH_REPLICAS",
        True,
        "Nothing was written: fewer replicas are in sync than min.insync.replicas.",
    ),
    (
        20,
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        True,
        "The records were written to fewer replicas than min.insync.replicas.",
    ),
    (21, "INVALID_REQUIRED_ACKS", False, "acks must be -1, 0 or 1."),
    (22, "ILLEGAL_GENERATION", False, "The generation is not the current one of the group."),
    (
        23,
        "INCONSISTENT_GROUP_PROTOCOL",
        False,
        "The member's protocol type or protocols do not match those of the group.",
    ),
    (24, "INVALID_GROUP_ID", False, "The group id is not valid."),
    (25, "UNKNOWN_MEMBER_ID", False, "The coordinator does not know this member."),
    (26, "INVALID_SESSION_TIMEOUT", False, "The session timeout is outside the range that the broker allows."),
    (27, "REBALANCE_IN_PROGRESS", False, "The group is rebalancing. The member has to join again."),
    (28, "INVALID_COMMIT_OFFSET_SIZE", False, "The record of the committed offset would be too large."),
    (29, "TOPIC_AUTHORIZATION_FAILED", False, "Not authorized for the topic."),
    (30, "GROUP_AUTHORIZATION_FAILED", False, "Not authorized for the group."),
    (31, "CLUSTER_AUTHORIZATION_FAILED", False, "Not authorized for the cluster."),
    (32, "INVALID_TIMESTAMP", False, "A record's timestamp is outside the range that the topic allows."),
    (33, "UNSUPPORTED_SASL_MECHANISM", False, "The broker does not offer this SASL mechanism."),
    (34, "ILLEGAL_SASL_STATE", False, "The request does not match the state of authentication."),
    (35, "UNSUPPORTED_VERSION", False, "The API version, or the requested operation, is not supported."),
    (36, "TOPIC_ALREADY_EXISTS", False, "A topic with this name already exists."),
    (37, "INVALID_PARTITIONS", False, "The number of partitions is not valid."),
    (38, "INVALID_REPLICATION_FACTOR", False, "The replication factor is below 1 or above the number of brokers."),
    (39, "INVALID_REPLICA_ASSIGNMENT", False, "The assignment of replicas is not valid."),
    (40, "INVALID_CONFIG", False, "A configuration is not valid."),
    (41, "NOT_CONTROLLER", True, "This broker is not the controller."),
    (
        42,
        "INVALID_REQUEST",
        False,
        "This most likely occurs because of a request being malformed by the client library or the message was sent to "
        "an incompatible broker. See the broker logs for more details.",
    ),
    (43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", False, "The record format does not support this operation."),
    (44, "POLICY_VIOLATION", False, "A policy of the cluster forbids this operation."),
    (45, "OUT_OF_ORDER_SEQUENCE_NUMBER", False, "The producer's sequence number does not follow its last one."),
    (46, "DUPLICATE_SEQUENCE_NUMBER", False, "The producer's sequence number was seen before."),
    (47, "INVALID_PRODUCER_EPOCH", False, "The producer's epoch is older than the one that the broker knows."),
    (48, "INVALID_TXN_STATE", False, "The state of the transaction does not allow this operation."),
    (49, "INVALID_PRODUCER_ID_MAPPING", False, "The producer id does not belong to the transactional id."),
    (50, "INVALID_TRANSACTION_TIMEOUT", False, "The transaction timeout is above transaction.max.timeout.ms."),
    (51, "CONCURRENT_TRANSACTIONS", True, "The transactional id is still busy with another operation."),
    (
        52,
        "TRANSACTION_COORDINATOR_FENCED",
        False,
        "Another transaction coordinator has taken over.",
    ),
    (53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", False, "Not authorized for the transactional id."),
    (54, "SECURITY_DISABLED", False, "Security features are switched off."),
    (55, "OPERATION_NOT_ATTEMPTED", False, "Not attempted, because another part of the request failed."),
    (56, "KAFKA_STORAGE_ERROR", True, "The disk failed. The log directory is offline."),
    (57, "LOG_DIR_NOT_FOUND", False, "The broker has no such log directory."),
    (58, "SASL_AUTHENTICATION_FAILED", False, "Authentication failed."),
    (59, "UNKNOWN_PRODUCER_ID", False, "The broker has no state for this producer id."),
    (60, "REASSIGNMENT_IN_PROGRESS", False, "The partition is being reassigned."),
    (61, "DELEGATION_TOKEN_AUTH_DISABLED", False, "Delegation tokens are switched off."),
    (62, "DELEGATION_TOKEN_NOT_FOUND", False, "The broker does not know this delegation token."),
    (63, "DELEGATION_TOKEN_OWNER_MISMATCH", False, "The principal neither owns nor may renew the delegation token."),
    (64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", False, "This connection may not manage delegation tokens."),
    (65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", False, "Not authorized for the delegation token."),
    (66, "DELEGATION_TOKEN_EXPIRED", False, "The delegation token has expired."),
    (67, "INVALID_PRINCIPAL_TYPE", False, "The type of the principal is not supported."),
    (68, "NON_EMPTY_GROUP", False, "The group still has members."),
    (69, "GROUP_ID_NOT_FOUND", False, "The group does not exist."),
    (70, "FETCH_SESSION_ID_NOT_FOUND", True, "The fetch session does not exist."),
    (71, "INVALID_FETCH_SESSION_EPOCH", True, "The epoch of the fetch session is not the expected one."),
    (72, "LISTENER_NOT_FOUND", True, "The leader has no listener with the name of the client's listener."),
    (73, "TOPIC_DELETION_DISABLED", False, "Topics may not be deleted on this cluster."),
    (74, "FENCED_LEADER_EPOCH", True, "The leader epoch in the request is older than that of the broker."),
    (75, "UNKNOWN_LEADER_EPOCH", True, "The leader epoch in the request is newer than that of the broker."),
    (76, "UNSUPPORTED_COMPRESSION_TYPE", False, "The client does not support the compression of the data."),
    (77, "STALE_BROKER_EPOCH", False, "The broker has registered again with a newer epoch."),
    (78, "OFFSET_NOT_AVAILABLE", True, "The new leader's high watermark has not caught up yet."),
    (79, "MEMBER_ID_REQUIRED", False, "The member has to join again with its assigned id."),
    (80, "PREFERRED_LEADER_NOT_AVAILABLE", True, "The preferred leader is not available."),
    (81, "GROUP_MAX_SIZE_REACHED", False, "The group has reached its maximum number of members."),
    (82, "FENCED_INSTANCE_ID", False, "Another member took over this group.instance.id."),
    (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", True, "No replica that may become leader is available."),
    (84, "ELECTION_NOT_NEEDED", True, "The partition needs no election."),
    (85, "NO_REASSIGNMENT_IN_PROGRESS", False, "The partition is not being reassigned."),
    (86, "GROUP_SUBSCRIBED_TO_TOPIC", False, "Offsets of a topic that the group is subscribed to cannot be deleted."),
    (87, "INVALID_RECORD", False, "A record breaks a rule of its topic or of the record format."),
    (88, "UNSTABLE_OFFSET_COMMIT", True, "An open transaction has offsets of the partition pending."),
    (89, "THROTTLING_QUOTA_EXCEEDED", True, "A quota was exceeded."),
    (90, "PRODUCER_FENCED", False, "A newer producer has taken over the transactional id."),
    (91, "RESOURCE_NOT_FOUND", False, "The request names something that does not exist."),
    (92, "DUPLICATE_RESOURCE", False, "The request names the same thing twice."),
    (93, "UNACCEPTABLE_CREDENTIAL", False, "The credential does not meet the requirements of the broker."),
    (94, "INCONSISTENT_VOTER_SET", False, "The sender or the receiver is not in the voter set of the other."),
    (95, "INVALID_UPDATE_VERSION", False, "The version to update from or to is not valid."),
    (96, "FEATURE_UPDATE_FAILED", False, "The finalized features could not be updated."),
    (97, "PRINCIPAL_DESERIALIZATION_FAILURE", False, "The principal of a forwarded request cannot be read."),
    (98, "SNAPSHOT_NOT_FOUND", False, "The snapshot does not exist."),
    (99, "POSITION_OUT_OF_RANGE", False, "The position is outside the snapshot."),
    (100, "UNKNOWN_TOPIC_ID", True, "This server does not host this topic ID."),
    (101, "DUPLICATE_BROKER_REGISTRATION", False, "Another broker is registered with this id."),
    (102, "BROKER_ID_NOT_REGISTERED", False, "No broker is registered with this id."),
    (103, "INCONSISTENT_TOPIC_ID", True, "The topic id in the request is not that of the log."),
    (104, "INCONSISTENT_CLUSTER_ID", False, "The request is for another cluster."),
    (105, "TRANSACTIONAL_ID_NOT_FOUND", False, "The transactional id does not exist."),
    (106, "FETCH_SESSION_TOPIC_ID_ERROR", True, "The fetch session mixes requests with and without topic ids."),
    (107, "INELIGIBLE_REPLICA", False, "The new ISR contains an ineligible replica."),
    (108, "NEW_LEADER_ELECTED", False, "A new leader was elected with the change of the partition."),
    (109, "OFFSET_MOVED_TO_TIERED_STORAGE", False, "The offset is in tiered storage only."),
    (
        110,
        "FENCED_MEMBER_EPOCH",
        False,
        "The member's epoch is fenced. The member has to give up its partitions and join again.",
    ),
    (111, "UNRELEASED_INSTANCE_ID", False, "Another member still holds this instance id."),
    (112, "UNSUPPORTED_ASSIGNOR", False, "The group does not support the assignor or its version."),
    (
        113,
        "STALE_MEMBER_EPOCH",
        False,
        "The member's epoch is out of date. The next heartbeat returns the current one.",
    ),
    (114, "MISMATCHED_ENDPOINT_TYPE", False, "The request belongs to another type of endpoint."),
    (115, "UNSUPPORTED_ENDPOINT_TYPE", False, "This type of endpoint is not supported."),
    (116, "UNKNOWN_CONTROLLER_ID", False, "There is no controller with this id."),
    (117, "UNKNOWN_SUBSCRIPTION_ID", False, "The telemetry subscription is not, or no longer, valid."),
    (118, "TELEMETRY_TOO_LARGE", False, "The telemetry data is larger than the broker allows."),
    (119, "INVALID_REGISTRATION", False, "The controller rejects the broker's registration."),
    (120, "TRANSACTION_ABORTABLE", False, "The transaction failed. Abort it to continue with the producer."),
    (121, "INVALID_RECORD_STATE", False, "The record is not in a state in which it can be acknowledged."),
    (122, "SHARE_SESSION_NOT_FOUND", True, "The share session does not exist."),
    (123, "INVALID_SHARE_SESSION_EPOCH", True, "The epoch of the share session is not the expected one."),
    (124, "FENCED_STATE_EPOCH", False, "The epoch of the share group's state is out of date."),
    (125, "INVALID_VOTER_KEY", False, "The voter's key is not that of the replica."),
    (126, "DUPLICATE_VOTER", False, "The replica is already a voter."),
    (127, "VOTER_NOT_FOUND", False, "The replica is not a voter."),
    (128, "INVALID_REGULAR_EXPRESSION", False, "The regular expression is not valid."),
    (129, "REBOOTSTRAP_REQUIRED", False, "The client's metadata is too old. The client has to bootstrap again."),
    (130, "STREAMS_INVALID_TOPOLOGY", False, "The topology is not valid."),
    (131, "STREAMS_INVALID_TOPOLOGY_EPOCH", False, "The epoch of the topology is not valid."),
    (132, "STREAMS_TOPOLOGY_FENCED", False, "The epoch of the topology is out of date."),
    (133, "SHARE_SESSION_LIMIT_REACHED", True, "The broker has reached its maximum number of share sessions."),
)


class KafkaError(Exception):
    """An error with a row in the table. `class SomeError(KafkaError, code=42)` uses the row of code 42."""

    code: int = -1
    name: str = "UNKNOWN_SERVER_ERROR"
    retriable: bool = False
    description: str = TABLE[0][3]

    def __init_subclass__(cls, *, code: int | None = None) -> None:
        if code is not None:
            cls.code, cls.name, cls.retriable, cls.description = TABLE[_ROWS[code]]

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.description if message is None else message)
        # The message of the raise statement, which a response may carry; None without one.
        self.detail = message

    @property
    def message(self) -> str:
        """The message of the raise statement, or else the table's text."""
        return str(self)


def _class_name(name: str) -> str:
    stem = name.removesuffix("_EXCEPTION").removesuffix("_ERROR")
    return "".join(word.capitalize() for word in stem.split("_")) + "Error"


_ROWS = {code: index for index, (code, *_) in enumerate(TABLE)}
_CODES = {_class_name(name): code for code, name, *_ in TABLE if code != NONE}


def by_code(code: int) -> type[KafkaError]:
    """The exception class of a code; `UnknownServerError` for an unknown code, as in Kafka's clients."""
    if code == NONE:
        raise ValueError("code 0 is no error")
    known_code, name, _, description = TABLE[_ROWS.get(code, _ROWS[-1])]
    class_name = _class_name(name)
    cls: type[KafkaError] | None = globals().get(class_name)
    if cls is None:
        attributes = {"__doc__": description, "__module__": __name__}
        made = type(class_name, (KafkaError,), attributes, code=known_code)
        # Another thread may have made it meanwhile. `except` finds only one class, so all threads get the first.
        cls = globals().setdefault(class_name, made)
    return cls


def name_of(code: int) -> str:
    """The name of a code, such as `NONE` or `OFFSET_OUT_OF_RANGE`; `UNKNOWN_CODE_<code>` for an unknown one."""
    index = _ROWS.get(code)
    return f"UNKNOWN_CODE_{code}" if index is None else TABLE[index][1]


def __getattr__(name: str) -> type[KafkaError]:
    if name not in _CODES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return by_code(_CODES[name])
