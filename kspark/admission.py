"""Chooses where a micro-batch ends: `maxOffsetsPerTrigger`, `minOffsetsPerTrigger`, `maxTriggerDelay`. No I/O.

Follows Spark's KafkaMicroBatchStream: a limit is divided among the partitions in proportion to their unread offsets.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.metadata.cluster import TopicPartition

    Offsets = dict[TopicPartition, int]


class Admission:
    """Admission control of one query.

    `least` and `most` are offsets per batch. A batch with fewer than `least` waits up to `delay_ms`.
    """

    def __init__(self, least: int | None, most: int | None, delay_ms: int) -> None:
        self._least = least
        self._most = most
        self._delay_ms = delay_ms
        self._last_batch_ms: float | None = None

    def end_of_batch(self, start: Offsets, latest: Offsets, now_ms: float) -> Offsets:
        """Return the end offsets of the batch that begins at `start`; `start` itself if the batch must wait.

        `start` and `latest` have the same partitions. The first batch, also after a restart, never waits.
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
    """Return `latest`, or ends that are about `most` offsets from `start`.

    Each partition gets a share in proportion to its unread offsets, and at least one offset if it has any.
    """
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
