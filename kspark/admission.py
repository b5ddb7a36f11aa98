"""How far a micro-batch goes: `maxOffsetsPerTrigger`, `minOffsetsPerTrigger`, `maxTriggerDelay`. Pure.

Facts: Spark's KafkaMicroBatchStream; a limit is spread over the partitions by how much there is in each.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.metadata.cluster import TopicPartition

    Offsets = dict[TopicPartition, int]


class Admission:
    """Of one query. `least` and `most` are offsets a batch; `delay_ms` is how long fewer than `least` may wait."""

    def __init__(self, least: int | None, most: int | None, delay_ms: int) -> None:
        self._least = least
        self._most = most
        self._delay_ms = delay_ms
        self._last_batch_ms: float | None = None

    def end_of_batch(self, start: Offsets, latest: Offsets, now_ms: float) -> Offsets:
        """Where the batch ends that begins at `start`: at `start` itself when it is to wait for more.

        Both speak of the same partitions. The first batch, and any after a restart, waits for nobody.
        """
        waiting = sum(max(latest[partition] - start[partition], 0) for partition in latest)
        if self._least is not None and waiting < self._least and not self._is_overdue(now_ms):
            return dict(start)
        if waiting:
            self._last_batch_ms = now_ms
        return spread(start, latest, self._most)

    def _is_overdue(self, now_ms: float) -> bool:
        return self._last_batch_ms is None or now_ms - self._last_batch_ms >= self._delay_ms


def spread(start: Offsets, latest: Offsets, most: int | None) -> Offsets:
    """`latest`, or as far as `most` offsets go when each partition gets its share of them; at least one each."""
    sizes = {partition: latest[partition] - start[partition] for partition in latest}
    total = sum(size for size in sizes.values() if size > 0)
    if most is None or total <= most:
        return dict(latest)
    ends = {}
    for partition, size in sizes.items():
        share = most * size / total
        taken = math.ceil(share) if share < 1 else int(share)
        ends[partition] = min(start[partition] + taken, latest[partition]) if size > 0 else latest[partition]
    return ends
