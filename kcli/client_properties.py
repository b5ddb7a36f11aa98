"""Kafka's producer and consumer properties, as commands get them, turned into the options of this client.

A property that this client does not have is named on stderr and left aside, as Kafka's clients do.
"""

from __future__ import annotations

import click

from kcli.properties import parse_properties, read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.config.client_config import ConsumerConfig, ProducerConfig

# Java names its own classes here; keys and values are bytes in this client.
IGNORED_SUFFIXES = (".serializer", ".deserializer")


def gather(config_file: str | None, pairs: tuple[str, ...], option: str) -> dict[str, str]:
    """The properties of the context, then those of a file, then those of the command line."""
    from kcli.options import context_properties

    return {**context_properties(), **read_properties(config_file), **parse_properties(pairs, option)}


def producer_config(properties: dict[str, str]) -> ProducerConfig:
    """A producer's configuration; ConfigException for what cannot be, a word on stderr for what is odd."""
    from kcore.client.config.client_config import ProducerConfig

    own = {name: value for name, value in properties.items() if not name.endswith(IGNORED_SUFFIXES)}
    config = ProducerConfig(own)
    for warning in config.warnings:
        click.echo(f"kcli: {warning}", err=True)
    return config


def consumer_config(properties: dict[str, str]) -> ConsumerConfig:
    """A consumer's configuration, in the same way; keys and values stay bytes."""
    from kcore.client.config.client_config import ConsumerConfig

    own = {name: value for name, value in properties.items() if not name.endswith(IGNORED_SUFFIXES)}
    config = ConsumerConfig(own)
    for warning in config.warnings:
        click.echo(f"kcli: {warning}", err=True)
    return config


def with_bootstrap_servers(properties: dict[str, str], bootstrap_server: str) -> dict[str, str]:
    """The option counts where it was given, then the property of that name, then the option's default."""
    source = click.get_current_context().get_parameter_source("bootstrap_server")
    if "bootstrap.servers" in properties and source is click.core.ParameterSource.DEFAULT:
        return properties
    return {**properties, "bootstrap.servers": bootstrap_server}
