"""A consumer's group configurations for both protocols, and its current identity as a member."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from kcore.client.config.client_config import ConsumerConfig

NO_GENERATION = -1


class GroupSettings(NamedTuple):
    """Kafka's group configurations, in ms. `rebalance_timeout_ms` is max.poll.interval.ms."""

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

    @classmethod
    def of(cls, config: ConsumerConfig) -> Self:
        """Return the settings of a consumer that has a group.id."""
        return cls(
            config["group.id"],
            instance_id=config["group.instance.id"],
            rack=config["client.rack"],
            session_timeout_ms=config["session.timeout.ms"],
            heartbeat_interval_ms=config["heartbeat.interval.ms"],
            rebalance_timeout_ms=config["max.poll.interval.ms"],
            request_timeout_ms=config["request.timeout.ms"],
            retry_backoff_ms=config["retry.backoff.ms"],
            retry_backoff_max_ms=config["retry.backoff.max.ms"],
            remote_assignor=config["group.remote.assignor"],
        )


class GroupMetadata(NamedTuple):
    """A member's identity, for `Producer.send_offsets_to_transaction`.

    Under the consumer protocol, `generation_id` is the member epoch.
    """

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None
