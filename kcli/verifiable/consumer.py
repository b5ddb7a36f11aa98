"""Reads a topic as a member of a group, and reports assignments, records and commits."""

from __future__ import annotations

from kcli.verifiable.events import SIGNAL_EXIT, EventWriter
from kcore.client.consumer.codes import FENCED_INSTANCE_ID
from kcore.client.consumer.consumer_errors import Woken
from kcore.client.consumer.positions import OffsetAndMetadata
from kcore.client.consumer.rebalance_callback import RebalanceListener
from kcore.client.errors import ClientError
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import KafkaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kcore.client.consumer.consumer import Consumer
    from kcore.client.consumer.consumer_record import ConsumerRecord

POLL_MS = 1_000.0


class VerifiableConsumer(RebalanceListener):
    """Negative `max_messages`: no limit. Without automatic commits, it commits after each poll."""

    def __init__(
        self,
        consumer: Consumer,
        topic: str,
        events: EventWriter,
        *,
        max_messages: int = -1,
        is_auto_committing: bool = False,
        is_verbose: bool = False,
    ) -> None:
        self._consumer = consumer
        self._topic = topic
        self._events = events
        self._left = max_messages if max_messages >= 0 else None
        self._is_auto_committing = is_auto_committing
        self._is_verbose = is_verbose
        self._exit_code = 0

    def end(self, signal_number: int) -> None:
        """For signal handlers: ends the current or the next waiting call of the consumer."""
        self._exit_code = SIGNAL_EXIT + signal_number
        self._consumer.wakeup()

    def run(self) -> int:
        """Reads until enough records or a signal, and returns the exit code. Always leaves the group."""
        try:
            self._events.write("startup_complete")
            self._consumer.subscribe([self._topic], self)
            while self._left is None or self._left > 0:
                records = self._consumer.poll(POLL_MS)
                if records:
                    self._take(records)
        except Woken:
            self._events.write("shutdown_requested")
        finally:
            self._consumer.close()
            self._events.write("shutdown_complete")
        return self._exit_code

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self._events.write("partitions_assigned", partitions=[_named(partition) for partition in partitions])

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._events.write("partitions_revoked", partitions=[_named(partition) for partition in partitions])

    def _take(self, records: list[ConsumerRecord]) -> None:
        by_partition: dict[TopicPartition, list[ConsumerRecord]] = {}
        for record in records:
            by_partition.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        summaries = []
        for partition, found in by_partition.items():
            counted = found if self._left is None else found[: self._left]
            if not counted:
                break
            if self._left is not None:
                self._left -= len(counted)
            first, last = counted[0].offset, counted[-1].offset
            offsets[partition] = OffsetAndMetadata(last + 1)
            summary = {"count": len(counted), "minOffset": first, "maxOffset": last}
            summaries.append({**_named(partition), **summary})
            if self._is_verbose:
                for record in counted:
                    self._report(record)
        # As in Kafka's tool, this counts all polled records, including those beyond --max-messages.
        self._events.write("records_consumed", count=len(records), partitions=summaries)
        if not self._is_auto_committing:
            self._commit(offsets)

    def _report(self, record: ConsumerRecord) -> None:
        self._events.write(
            "record_data",
            key=_text(record.key),
            value=_text(record.value),
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
        )

    def _commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        committed: list[dict[str, Any]] = [
            {**_named(partition), "offset": where.offset} for partition, where in offsets.items()
        ]
        try:
            self._consumer.commit(offsets)
        except Woken:
            self._commit(offsets)
            raise
        except (ClientError, KafkaError) as error:
            if isinstance(error, KafkaError) and error.code == FENCED_INSTANCE_ID:
                raise
            self._events.write("offsets_committed", offsets=committed, error=str(error), success=False)
            return
        self._events.write("offsets_committed", offsets=committed, success=True)


def _named(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
