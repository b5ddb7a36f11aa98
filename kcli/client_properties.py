"""Turns Kafka's producer and consumer properties into configurations of this client.

Unknown properties cause a warning on stderr and are ignored, as in Kafka's clients.
"""

from __future__ import annotations

import click

from kcli.properties import complain_of, parse_properties, read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.config.client_config import ConsumerConfig, ProducerConfig

# Their values are Java classes. Keys and values are bytes in this client.
IGNORED_SUFFIXES = (".serializer", ".deserializer")


def gather(config_file: str | None, pairs: tuple[str, ...], option: str) -> dict[str, str]:
    """Properties. Precedence: command line, file, context."""
    from kcli.options import context_properties

    return {**context_properties(), **read_properties(config_file), **parse_properties(pairs, option)}


def producer_config(properties: dict[str, str]) -> ProducerConfig:
    """A producer configuration. Raises ConfigException for invalid values; prints warnings to stderr."""
    from kcore.client.config.client_config import ProducerConfig

    own = {name: value for name, value in properties.items() if not name.endswith(IGNORED_SUFFIXES)}
    config = ProducerConfig(own)
    complain_of(config.warnings)
    return config


def consumer_config(properties: dict[str, str]) -> ConsumerConfig:
    """A consumer configuration, likewise. Keys and values stay bytes."""
    from kcore.client.config.client_config import ConsumerConfig

    own = {name: value for name, value in properties.items() if not name.endswith(IGNORED_SUFFIXES)}
    config = ConsumerConfig(own)
    complain_of(config.warnings)
    return config


def with_bootstrap_servers(properties: dict[str, str], bootstrap_server: str) -> dict[str, str]:
    """Precedence of bootstrap servers: the option, the property, the option's default."""
    source = click.get_current_context().get_parameter_source("bootstrap_server")
    if "bootstrap.servers" in properties and source is click.core.ParameterSource.DEFAULT:
        return properties
    return {**properties, "bootstrap.servers": bootstrap_server}
