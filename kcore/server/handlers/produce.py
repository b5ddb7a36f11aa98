"""Produce (key 0) on a handler thread: the requests that the native path refuses, or all if it is disabled.

v3 adds record format 2 and transactional ids, v5 the log start offset, v7 zstd (KIP-110), v8 errors of single records
(KIP-467), v9 flexible fields, v10 the leader's address. The rules for records are those of `Partition` and of
`produce_rules`, as on the native path. With acks=0 there is no response. An error then closes the connection, which is
all that the client can notice.
"""

from __future__ import annotations

from kcore import errors
from kcore.metadata.image import INTERNAL_TOPICS
from kcore.quota.client_quota_manager import PRODUCE as PRODUCE_QUOTA
from kcore.record.record_errors import MOST_LISTED
from kcore.server.delayed_requests import acknowledgement_error
from kcore.server.produce_rules import begins_transactional, produce_records_error, takes_long
from kcore.server.record_codecs import readable_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeAlias

    from kcore.replication.partition import AppendOutcome, Partition
    from kcore.server.request_context import Fields, RequestContext

    # A partition whose records are not acknowledged yet, the offset that it must reach, and its part of the response.
    Waiting: TypeAlias = tuple[Partition, int, dict[str, Any]]

NO_ACKS = 0
ALL_REPLICAS = -1
# Kafka allows only its own admin client to write to internal topics.
ADMIN_CLIENT_ID = "__admin_client"


def handle(context: RequestContext, request: Any) -> Fields | None:
    """Appends every partition's records. Responds at once, or when enough replicas have them."""
    refuse_transactions(request)
    if request.acks not in (ALL_REPLICAS, NO_ACKS, 1):
        raise errors.InvalidRequiredAcksError()
    if has_large_batch(context, request):
        if not context.broker.large_batches.has_room:
            raise errors.RequestTimedOutError("Too many large batches wait to be decompressed. Send the request again.")
        context.leave_to_large_batches(append_large)
        return None
    return append_all(context, request, is_large=False)


def has_large_batch(context: RequestContext, request: Any) -> bool:
    """Whether a batch may take long to decompress."""
    inline_bytes = context.broker.config.number("kcli.batch.inline.decompressed.bytes")
    return any(takes_long(data.records, inline_bytes) for topic in request.topic_data for data in topic.partition_data)


def append_large(context: RequestContext, request: Any) -> Fields | None:
    """Runs `append_all` on the thread for large batches."""
    return append_all(context, request, is_large=True)


def append_all(context: RequestContext, request: Any, *, is_large: bool) -> Fields | None:
    """Appends every partition's records. A large batch is validated before the log is locked."""
    waiting: list[Waiting] = []
    answers = []
    for topic in request.topic_data:
        partitions = []
        for data in topic.partition_data:
            answer = append(context, request.acks, topic.name, data, waiting, is_large)
            partitions.append(answer)
        answers.append({"name": topic.name, "partition_responses": partitions})
    fields = {"responses": answers}
    bound_record_errors(partition_answers(fields))
    context.charge(PRODUCE_QUOTA, context.size_bytes)
    if request.acks == NO_ACKS:
        finish_unacknowledged(context, fields)
        return None
    if waiting:
        wait_for_acknowledgement(context, request, fields, waiting)
        return None
    return fields


def refuse_transactions(request: Any) -> None:
    """Raises TransactionalIdAuthorizationFailedError for transactional ids and batches, as Kafka without permission.

    This broker coordinates no transactions, so nothing would end a transaction that the request begins.
    """
    if request.transactional_id is not None:
        raise errors.TransactionalIdAuthorizationFailedError(
            f"Transactional id '{request.transactional_id}' is refused: this broker does not support transactions. "
            "Remove transactional.id from the producer's configuration."
        )
    for topic in request.topic_data:
        for data in topic.partition_data:
            if begins_transactional(data.records):
                raise errors.TransactionalIdAuthorizationFailedError(
                    f"The batch for partition {topic.name}-{data.index} is transactional, "
                    "but the request has no transactional id."
                )


def append(
    context: RequestContext, acks: int, topic: str, data: Any, waiting: list[Waiting], is_large: bool
) -> dict[str, Any]:
    """Appends one partition's records. Returns its part of the response. Adds to `waiting` if it must wait."""
    partition = context.broker.replica_manager.partition(topic, data.index)
    if partition is None:
        return failure(data.index, context.broker.missing_partition_error(topic, data.index))
    if topic in INTERNAL_TOPICS and context.client_id != ADMIN_CLIENT_ID:
        return failure(data.index, errors.InvalidTopicError.code, f"Cannot append to internal topic {topic}")
    records = data.records if data.records is not None else b""
    code, message = produce_records_error(records, context.api_version)
    if code != errors.NONE:
        return failure(data.index, code, message)
    try:
        outcome = partition.append_records(
            readable_batch(records, partition.log.decompressed_limit_bytes), acks, validates_first=is_large
        )
    except errors.KafkaError as error:
        return failure(data.index, error.code, error.message)
    answer = describe(data.index, outcome)
    if acks != NO_ACKS and outcome.error == errors.NONE:
        required_offset = outcome.last_offset + 1
        if acknowledgement_error(partition, acks, required_offset) != errors.NONE:
            waiting.append((partition, required_offset, answer))
    return answer


def describe(index: int, outcome: AppendOutcome) -> dict[str, Any]:
    """The response of one partition."""
    fields: dict[str, Any] = {
        "index": index,
        "error_code": outcome.error,
        "base_offset": outcome.base_offset,
        "log_append_time_ms": outcome.log_append_time_ms,
        "log_start_offset": outcome.log_start_offset,
    }
    if outcome.error != errors.NONE:
        fields["error_message"] = outcome.message
        fields["record_errors"] = [
            {"batch_index": record, "batch_index_error_message": message} for record, message in outcome.record_errors
        ]
    return fields


def bound_record_errors(answers: Iterable[dict[str, Any]]) -> None:
    """Keeps the first MOST_LISTED record errors of a response. Nothing else bounds its size."""
    left = MOST_LISTED
    for answer in answers:
        listed = answer.get("record_errors")
        if listed:
            del listed[left:]
            left -= len(listed)


def failure(index: int, code: int, message: str | None = None) -> dict[str, Any]:
    """The response of a partition with an error."""
    return {
        "index": index,
        "error_code": code,
        "base_offset": -1,
        "log_append_time_ms": -1,
        "log_start_offset": -1,
        "error_message": message,
    }


def partition_answers(fields: Fields) -> Iterator[dict[str, Any]]:
    """The partitions of a response."""
    for topic in fields["responses"]:
        yield from topic["partition_responses"]


def finish_unacknowledged(context: RequestContext, fields: Fields) -> None:
    """Ends a request with acks=0: no response, or a closed connection if a partition failed."""
    if any(answer["error_code"] != errors.NONE for answer in partition_answers(fields)):
        context.close()
    else:
        context.respond_nothing()


def wait_for_acknowledgement(context: RequestContext, request: Any, fields: Fields, waiting: list[Waiting]) -> None:
    """Responds once all partitions are acknowledged as `acks` requires, or after the timeout with an error."""

    def answer() -> Fields:
        for partition, offset, part in waiting:
            part["error_code"] = acknowledgement_error(partition, request.acks, offset)
        return fields

    broker = context.broker
    appends = [(partition, offset) for partition, offset, _ in waiting]
    broker.delayed_requests.wait_for_acknowledgement(
        broker.produce_purgatory, appends, request.acks, request.timeout_ms, context.respond_later(answer)
    )


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields | None:
    """Sets the error on every partition. With acks=0, closes the connection."""
    if request.acks == NO_ACKS:
        context.close()
        return None
    return {
        "responses": [
            {
                "name": topic.name,
                "partition_responses": [failure(data.index, error.code, str(error)) for data in topic.partition_data],
            }
            for topic in request.topic_data
        ]
    }
