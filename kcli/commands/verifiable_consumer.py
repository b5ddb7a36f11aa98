"""`kcli verifiable-consumer`: like kafka-verifiable-consumer, with the same output."""

from __future__ import annotations

import click

from kcli.broker_connection import BrokerWatch, await_broker, wait_options
from kcli.command import Command
from kcli.completion import complete_topics
from kcli.options import bootstrap_server_option

RANGE_ASSIGNOR = "org.apache.kafka.clients.consumer.RangeAssignor"
CLASSIC, CONSUMER = "classic", "consumer"


@click.command(
    "verifiable-consumer",
    cls=Command,
    examples="""
    # Read a topic as a member of the group checks
    kcli verifiable-consumer --topic orders --group-id checks
    # Read 1000 records and report each record
    kcli verifiable-consumer --topic orders --group-id checks --max-messages 1000 --verbose
    """,
)
@click.option("--topic", required=True, metavar="TOPIC", shell_complete=complete_topics, help="Topic to read.")
@click.option("--group-id", required=True, metavar="ID", help="Consumer group to join.")
@click.option(
    "--group-protocol",
    type=click.Choice([CLASSIC, CONSUMER], case_sensitive=False),
    default=CLASSIC,
    show_default=True,
    help="Group protocol.",
)
@click.option("--group-remote-assignor", metavar="NAME", help="Assignor of the broker, for the consumer protocol.")
@click.option("--group-instance-id", metavar="ID", help="Group instance id, which makes the member static.")
@click.option(
    "--max-messages",
    type=int,
    default=-1,
    show_default=True,
    metavar="N",
    help="Number of records to read; -1: no limit.",
)
@click.option(
    "--session-timeout",
    type=int,
    default=30_000,
    show_default=True,
    metavar="MS",
    help="Session timeout of the classic protocol, in ms.",
)
@click.option("--verbose", is_flag=True, help="Report each record.")
@click.option("--enable-autocommit", is_flag=True, help="Commit periodically instead of after each poll.")
@click.option(
    "--reset-policy",
    type=click.Choice(["earliest", "latest", "none"]),
    default="earliest",
    show_default=True,
    help="Start offset if the group has no offset.",
)
@click.option(
    "--assignment-strategy",
    default=RANGE_ASSIGNOR,
    show_default=True,
    metavar="CLASS",
    help="Assignor of the classic protocol.",
)
@click.option(
    "--consumer.config", "--command-config", "config_file", metavar="FILE", help="Properties file of the consumer."
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
    """Read a topic as a member of a group, and report events as lines of JSON.

    The events are startup_complete, partitions_assigned, partitions_revoked, records_consumed, record_data,
    offsets_committed, shutdown_requested and shutdown_complete. On SIGTERM or Ctrl-C, the
    command leaves the group and ends.
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
    with BrokerWatch(client.connection_states, "Reading continues after reconnecting."):
        return consumer.run()
