"""Error codes in responses about groups, by name."""

from __future__ import annotations

from kcore import errors

NONE = errors.NONE
COORDINATOR_LOAD_IN_PROGRESS = errors.CoordinatorLoadInProgressError.code
COORDINATOR_NOT_AVAILABLE = errors.CoordinatorNotAvailableError.code
NOT_COORDINATOR = errors.NotCoordinatorError.code
OFFSET_METADATA_TOO_LARGE = errors.OffsetMetadataTooLargeError.code
ILLEGAL_GENERATION = errors.IllegalGenerationError.code
INCONSISTENT_GROUP_PROTOCOL = errors.InconsistentGroupProtocolError.code
INVALID_GROUP_ID = errors.InvalidGroupIdError.code
UNKNOWN_MEMBER_ID = errors.UnknownMemberIdError.code
INVALID_SESSION_TIMEOUT = errors.InvalidSessionTimeoutError.code
REBALANCE_IN_PROGRESS = errors.RebalanceInProgressError.code
UNKNOWN_TOPIC_OR_PARTITION = errors.UnknownTopicOrPartitionError.code
UNKNOWN_SERVER_ERROR = errors.UnknownServerError.code
MEMBER_ID_REQUIRED = errors.MemberIdRequiredError.code
GROUP_MAX_SIZE_REACHED = errors.GroupMaxSizeReachedError.code
NOT_ENOUGH_REPLICAS = errors.NotEnoughReplicasError.code
NOT_ENOUGH_REPLICAS_AFTER_APPEND = errors.NotEnoughReplicasAfterAppendError.code
NOT_LEADER_OR_FOLLOWER = errors.NotLeaderOrFollowerError.code
KAFKA_STORAGE_ERROR = errors.KafkaStorageError.code
MESSAGE_TOO_LARGE = errors.MessageTooLargeError.code
RECORD_LIST_TOO_LARGE = errors.RecordListTooLargeError.code
INVALID_COMMIT_OFFSET_SIZE = errors.InvalidCommitOffsetSizeError.code
FENCED_INSTANCE_ID = errors.FencedInstanceIdError.code
REQUEST_TIMED_OUT = errors.RequestTimedOutError.code
INVALID_FETCH_SIZE = errors.InvalidFetchSizeError.code
GROUP_ID_NOT_FOUND = errors.GroupIdNotFoundError.code
GROUP_SUBSCRIBED_TO_TOPIC = errors.GroupSubscribedToTopicError.code
STALE_MEMBER_EPOCH = errors.StaleMemberEpochError.code
UNSUPPORTED_VERSION = errors.UnsupportedVersionError.code
NON_EMPTY_GROUP = errors.NonEmptyGroupError.code
UNSTABLE_OFFSET_COMMIT = errors.UnstableOffsetCommitError.code
