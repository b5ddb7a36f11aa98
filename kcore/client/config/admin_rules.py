"""Rules over several configurations of an admin client (AdminBootstrapAddresses, KafkaAdminClient)."""

from __future__ import annotations

from kcore.config.definition import ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.config.client_config import ClientConfig


def settle_admin(config: ClientConfig) -> None:
    """Check the rules. Raises ConfigException with Kafka's message and a remedy for the first violation."""
    if config.texts("bootstrap.controllers"):
        if config.texts("bootstrap.servers"):
            raise ConfigException("You cannot set both bootstrap.servers and bootstrap.controllers. Remove one")
        raise ConfigException("bootstrap.controllers is not supported in this version. Set bootstrap.servers")
    if not config.texts("bootstrap.servers"):
        raise ConfigException(
            "You must set either bootstrap.servers or bootstrap.controllers. Set bootstrap.servers to "
            "HOST:PORT[,HOST:PORT...]"
        )
    request_ms, call_ms = config.number("request.timeout.ms"), config.number("default.api.timeout.ms")
    if call_ms < request_ms:
        if config.is_set("default.api.timeout.ms"):
            raise ConfigException(
                "The specified value of default.api.timeout.ms must be no smaller than the value of "
                f"request.timeout.ms: it is {call_ms}, and must be at least {request_ms}"
            )
        config.settle("default.api.timeout.ms", request_ms)
