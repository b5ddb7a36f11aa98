"""Rules over several configurations of a producer (ProducerConfig, KafkaProducer.configureDeliveryTimeout).

Idempotence is on by default. acks other than all, or retries=0, turn it off, unless it was enabled explicitly.
"""

from __future__ import annotations

from kcore.client.config.connection_rules import require_bootstrap_servers
from kcore.config.definition import INT_MAX, ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.config.client_config import ClientConfig

# Brokers remember this many batches per producer, and detect duplicates only among them.
MAX_IN_FLIGHT_FOR_IDEMPOTENCE = 5


def settle_producer(config: ClientConfig) -> None:
    """Check the rules. Raises ConfigException with Kafka's message and a remedy for the first violation."""
    require_bootstrap_servers(config)
    config.settle("acks", "all" if config["acks"] == "-1" else config["acks"])
    _settle_idempotence(config)
    _check_transactions(config)
    _settle_delivery_timeout(config)


def _settle_idempotence(config: ClientConfig) -> None:
    if not config.flag("enable.idempotence"):
        return
    obstacle = _obstacle_to_idempotence(config)
    if obstacle is not None and config.is_set("enable.idempotence"):
        raise ConfigException(f"{obstacle}. Or set enable.idempotence=false")
    if obstacle is not None:
        config.settle("enable.idempotence", False)
    in_flight = config.number("max.in.flight.requests.per.connection")
    if config.flag("enable.idempotence") and in_flight > MAX_IN_FLIGHT_FOR_IDEMPOTENCE:
        raise ConfigException(
            "To use the idempotent producer, max.in.flight.requests.per.connection must be set to at most "
            f"{MAX_IN_FLIGHT_FOR_IDEMPOTENCE}. Current value is {in_flight}. Lower it, or set enable.idempotence=false"
        )


def _obstacle_to_idempotence(config: ClientConfig) -> str | None:
    if config.number("retries") == 0:
        return "Must set retries to non-zero when using the idempotent producer"
    if config["acks"] != "all":
        return (
            "Must set acks to all in order to use the idempotent producer. Otherwise we cannot guarantee idempotence: "
            f"acks is {config['acks']}"
        )
    return None


def _check_transactions(config: ClientConfig) -> None:
    if config["transactional.id"] is not None and not config.flag("enable.idempotence"):
        raise ConfigException(
            "Cannot set a transactional.id without also enabling idempotence. Keep the defaults of "
            "enable.idempotence, acks and retries, or remove transactional.id"
        )
    if config.flag("transaction.two.phase.commit.enable") and config.is_set("transaction.timeout.ms"):
        raise ConfigException(
            "Cannot set transaction.timeout.ms when transaction.two.phase.commit.enable is set to true. Transactions "
            "will not expire with two-phase commit enabled. Remove transaction.timeout.ms"
        )


def _settle_delivery_timeout(config: ClientConfig) -> None:
    least_ms = min(config.number("linger.ms") + config.number("request.timeout.ms"), INT_MAX)
    if config.number("delivery.timeout.ms") >= least_ms:
        return
    if config.is_set("delivery.timeout.ms"):
        raise ConfigException(
            "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms: it is "
            f"{config['delivery.timeout.ms']}, and must be at least {least_ms}"
        )
    config.settle("delivery.timeout.ms", least_ms)
    config.warnings.append(f"delivery.timeout.ms is less than linger.ms + request.timeout.ms. Using {least_ms}")
