"""How a consumer is a member of its group: the configurations that both protocols go by, and what a member is now."""

from __future__ import annotations

from typing import NamedTuple

NO_GENERATION = -1


class GroupSettings(NamedTuple):
    """Under the names of Kafka's configurations; `rebalance_timeout_ms` is max.poll.interval.ms."""

    group_id: str
    instance_id: str | None = None
    rack: str = ""
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    rebalance_timeout_ms: int = 300_000
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    remote_assignor: str | None = None
    is_leaving_on_close: bool = True


class GroupMetadata(NamedTuple):
    """A member at one moment, for `Producer.send_offsets_to_transaction`. In a consumer group, its epoch."""

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None
