"""kafka-python, in pure Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import CommitFailedError, RebalanceInProgressError

from tests.interop.consumer import TIMEOUT_S
from tests.interop.series import Received, Series, portions


def produce(
    server: str,
    topic: str,
    series: Series,
    settings: Mapping[str, object],
    milestones: Mapping[int, Callable[[], object]],
) -> None:
    """Returns when everything is acknowledged. At a milestone all before it is, and its function is called."""
    producer = KafkaProducer(bootstrap_servers=server, **settings)
    for numbers in portions(series, milestones):
        if numbers.start in milestones:
            milestones[numbers.start]()
        futures = [
            producer.send(
                topic,
                series.value(number),
                series.key(number),
                headers=series.headers(number),
                timestamp_ms=series.timestamp(number),
            )
            for number in numbers
        ]
        producer.flush(TIMEOUT_S)
        for future in futures:
            future.get(TIMEOUT_S)
    producer.close()


class KafkaPythonConsumer:
    def __init__(self, server: str, group: str | None, **settings: object) -> None:
        self.consumer = KafkaConsumer(
            bootstrap_servers=server,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            **settings,
        )

    def _partitions(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, partition) for partition in sorted(self.consumer.partitions_for_topic(topic))]

    def end_offsets(self, topic: str) -> dict[int, int]:
        found = self.consumer.end_offsets(self._partitions(topic))
        return {wanted.partition: offset for wanted, offset in found.items()}

    def offsets_for_timestamp(self, topic: str, timestamp: int) -> dict[int, int | None]:
        found = self.consumer.offsets_for_times(dict.fromkeys(self._partitions(topic), timestamp))
        return {wanted.partition: None if one is None else one.offset for wanted, one in found.items()}

    def assign(self, topic: str, offsets: Mapping[int, int]) -> None:
        self.consumer.assign([TopicPartition(topic, partition) for partition in offsets])
        for partition, offset in offsets.items():
            self.consumer.seek(TopicPartition(topic, partition), offset)

    def subscribe(self, topic: str) -> None:
        consumer = self.consumer

        class CommitWhenRevoked(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_revoked(self, revoked: object) -> None:
                # Called on the thread that would have to wait for it; the connection keeps it before the next join.
                if consumer.assignment():
                    consumer.commit_async()

            def on_partitions_assigned(self, assigned: object) -> None:
                pass

        consumer.subscribe([topic], listener=CommitWhenRevoked())

    def assigned(self) -> bool:
        return bool(self.consumer.assignment())

    def _remind(self) -> None:
        """Has a member join that has forgotten to.

        kafka-python 3.0 joins anew when its topics have changed, and takes note of the change with the answer to
        JoinGroup: is the connection lost before that to SyncGroup, nothing tells it any more that it is still to join.
        It then sends neither JoinGroup nor heartbeats, to whatever broker.
        """
        coordinator = self.consumer._coordinator
        if coordinator is not None and coordinator.rebalance_in_progress():
            is_joining = coordinator._join_task is not None
            if not is_joining and not coordinator.need_rejoin():
                coordinator.request_rejoin()

    def poll(self, limit: int, timeout_s: float) -> list[Received]:
        self._remind()
        found = self.consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=limit)
        return [
            Received(one.partition, one.offset, one.timestamp, one.key, one.value, list(one.headers))
            for records in found.values()
            for one in records
        ]

    def commit(self) -> bool:
        if not self.consumer.assignment():
            return False
        try:
            self.consumer.commit()
        except (CommitFailedError, RebalanceInProgressError):
            return False
        return True

    def close(self) -> None:
        self.consumer.close(autocommit=False)
