"""`kcli verifiable-consumer`: what kafka-verifiable-consumer does, and in its words."""

from __future__ import annotations

import click

from kcli.broker_connection import BrokerWatch, await_broker, wait_options
from kcli.completion import complete_topics
from kcli.options import bootstrap_server_option

RANGE_ASSIGNOR = "org.apache.kafka.clients.consumer.RangeAssignor"
CLASSIC, CONSUMER = "classic", "consumer"


@click.command("verifiable-consumer")
@click.option("--topic", required=True, shell_complete=complete_topics, help="The topic to read.")
@click.option("--group-id", required=True, metavar="ID", help="The group to read as a member of.")
@click.option("--group-protocol", type=click.Choice([CLASSIC, CONSUMER], case_sensitive=False), default=CLASSIC)
@click.option("--group-remote-assignor", metavar="NAME", help="The broker's assignor, with the consumer protocol.")
@click.option("--group-instance-id", metavar="ID", help="The member's own id: it is a static member.")
@click.option("--max-messages", type=int, default=-1, show_default=True, help="How many; -1: until it is ended.")
@click.option("--session-timeout", type=int, default=30_000, show_default=True, help="In ms; classic groups only.")
@click.option("--verbose", is_flag=True, help="Tell of each record.")
@click.option("--enable-autocommit", is_flag=True, help="Commit from time to time, and not after each poll.")
@click.option(
    "--reset-policy",
    type=click.Choice(["earliest", "latest", "none"]),
    default="earliest",
    show_default=True,
    help="Where to begin without a committed offset.",
)
@click.option("--assignment-strategy", default=RANGE_ASSIGNOR, show_default=True, help="Of classic groups.")
@click.option(
    "--consumer.config", "--command-config", "config_file", metavar="FILE", help="Properties of the consumer."
)
@wait_options
@bootstrap_server_option
def command(
    topic: str,
    group_id: str,
    group_protocol: str,
    group_remote_assignor: str | None,
    group_instance_id: str | None,
    max_messages: int,
    session_timeout: int,
    verbose: bool,
    enable_autocommit: bool,
    reset_policy: str,
    assignment_strategy: str,
    config_file: str | None,
    bootstrap_server: str,
) -> int:
    """Read a topic as a member of a group, and print what happens as lines of JSON.

    The events are startup_complete, partitions_assigned, partitions_revoked, records_consumed, record_data,
    offsets_committed, shutdown_requested and shutdown_complete. SIGTERM and Ctrl-C end it, and it leaves the group.
    """
    from kcli.client_properties import consumer_config, gather
    from kcli.verifiable.consumer import VerifiableConsumer
    from kcli.verifiable.events import EventWriter, on_signals
    from kcore.client.consumer.consumer import Consumer

    settings = {
        **gather(config_file, (), ""),
        "bootstrap.servers": bootstrap_server,
        "group.id": group_id,
        "enable.auto.commit": str(enable_autocommit).lower(),
        "auto.offset.reset": reset_policy,
    }
    if group_protocol.lower() == CONSUMER:
        settings["group.protocol"] = CONSUMER
        if group_remote_assignor is not None:
            settings["group.remote.assignor"] = group_remote_assignor
    else:
        settings["partition.assignment.strategy"] = assignment_strategy
        settings["session.timeout.ms"] = str(session_timeout)
    if group_instance_id is not None:
        settings["group.instance.id"] = group_instance_id
    config = consumer_config(settings)
    await_broker(config)
    client = Consumer(config)
    consumer = VerifiableConsumer(
        client,
        topic,
        EventWriter(),
        max_messages=max_messages,
        is_auto_committing=enable_autocommit,
        is_verbose=verbose,
    )
    on_signals(consumer.end)
    with BrokerWatch(client.connection_states, "Reading goes on when it is back."):
        return consumer.run()
