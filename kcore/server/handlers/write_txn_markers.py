"""WriteTxnMarkers (key 27): writes control batches that end transactions in partitions (KIP-98).

This broker coordinates no transactions, so only administrators send this request: `kcli transactions abort` and Kafka's
`kafka-transactions.sh abort` end a transaction that no coordinator will end (KIP-664). A marker is refused if its
producer epoch or coordinator epoch is below the partition's (`ProducerAppendInfo.appendEndTxnMarker`). Each marker
succeeds or fails independently in each partition.
"""

from __future__ import annotations

import time

from kcore import errors
from kcore.metadata.image import GROUP_METADATA_TOPIC
from kcore.record.control import encode_marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Writes every marker to every partition that it names."""
    return answer(request, lambda marker, topic, index: write_marker(context, marker, topic, index))


def write_marker(context: RequestContext, marker: Any, topic: str, index: int) -> int:
    """Writes one marker to one partition. Returns the error code."""
    if marker.producer_id < 0 or marker.producer_epoch < 0:
        return errors.InvalidRequestError.code
    partition = context.broker.replica_manager.partition(topic, index)
    if partition is None:
        return context.broker.missing_partition_error(topic, index)
    if topic == GROUP_METADATA_TOPIC:
        # The group coordinator writes the marker itself, since the transaction's offsets change with it.
        return context.broker.group_coordinator.complete_transaction(
            index, marker.producer_id, marker.producer_epoch, marker.coordinator_epoch, marker.transaction_result
        )
    batch = encode_marker(
        marker.transaction_result,
        marker.coordinator_epoch,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        timestamp=int(time.time() * 1000),
    )
    return int(partition.append_records(batch, -1, internal=True).error)


def answer(request: Any, outcome: Callable[[Any, str, int], int]) -> Fields:
    """The response with the error code of each marker in each partition."""
    return {
        "markers": [
            {
                "producer_id": marker.producer_id,
                "topics": [
                    {
                        "name": topic.name,
                        "partitions": [
                            {"partition_index": index, "error_code": outcome(marker, topic.name, index)}
                            for index in topic.partition_indexes
                        ],
                    }
                    for topic in marker.topics
                ],
            }
            for marker in request.markers
        ]
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every partition."""
    return answer(request, lambda marker, topic, index: error.code)
