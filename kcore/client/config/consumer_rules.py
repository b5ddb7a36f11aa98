"""Rules over several configurations of a consumer (ConsumerConfig, Heartbeat).

Without a group nothing can be committed: enable.auto.commit then defaults to false.
"""

from __future__ import annotations

from kcore.client.config.connection_rules import require_bootstrap_servers
from kcore.config.definition import ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.config.client_config import ClientConfig

CLASSIC, CONSUMER = "classic", "consumer"
# Configurations that the other protocol does not have; in that one the broker decides (KIP-848).
NOT_CLASSIC = ("group.remote.assignor", "share.acknowledgement.mode", "share.acquire.mode")
NOT_CONSUMER = (
    "partition.assignment.strategy",
    "heartbeat.interval.ms",
    "session.timeout.ms",
    "share.acknowledgement.mode",
    "share.acquire.mode",
)


def settle_consumer(config: ClientConfig) -> None:
    """Check the rules. Raises ConfigException with Kafka's message and a remedy for the first violation."""
    require_bootstrap_servers(config)
    config.settle("group.protocol", config["group.protocol"].lower())
    protocol = config["group.protocol"]
    for name in NOT_CLASSIC if protocol == CLASSIC else NOT_CONSUMER:
        if config.is_set(name):
            other = CONSUMER if protocol == CLASSIC else CLASSIC
            remedy = "Remove it" if name.startswith("share.") else f"Remove it or set group.protocol={other}"
            raise ConfigException(f"{name} cannot be set when group.protocol={protocol.upper()}. {remedy}")
    _settle_group(config)


def _settle_group(config: ClientConfig) -> None:
    group_id = config["group.id"]
    if group_id is None:
        if config.is_set("enable.auto.commit") and config.flag("enable.auto.commit"):
            raise ConfigException(
                "enable.auto.commit cannot be set to true when default group id (null) is used. Set group.id"
            )
        config.settle("enable.auto.commit", False)
        return
    if not group_id.strip():
        raise ConfigException(
            "The configured group.id should not be an empty string or whitespace. Set a group id, or remove group.id "
            "for a consumer without a group"
        )
    heartbeat_ms, session_ms = config.number("heartbeat.interval.ms"), config.number("session.timeout.ms")
    if config["group.protocol"] == CLASSIC and heartbeat_ms >= session_ms:
        raise ConfigException(
            f"Heartbeat must be set lower than the session timeout: heartbeat.interval.ms is {heartbeat_ms} and "
            f"session.timeout.ms {session_ms}. Use a third of the session timeout"
        )
