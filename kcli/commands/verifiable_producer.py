"""`kcli verifiable-producer`: like kafka-verifiable-producer, with the same output."""

from __future__ import annotations

import click

from kcli.broker_connection import BrokerWatch, await_broker, wait_options
from kcli.command import Command
from kcli.completion import complete_topics
from kcli.options import bootstrap_server_option
from kcli.ranges import IntegerRange


@click.command(
    "verifiable-producer",
    cls=Command,
    examples="""
    # Send 1000 numbers and report the delivery of each
    kcli verifiable-producer --topic orders --max-messages 1000
    # Send 100 numbers per second with ten different keys until Ctrl-C
    kcli verifiable-producer --topic orders --throughput 100 --repeating-keys 10
    """,
)
@click.option("--topic", required=True, metavar="TOPIC", shell_complete=complete_topics, help="Topic to write to.")
@click.option(
    "--max-messages",
    type=int,
    default=-1,
    show_default=True,
    metavar="N",
    help="Number of records to send; -1: no limit.",
)
@click.option(
    "--throughput", type=int, default=-1, show_default=True, metavar="N", help="Records per second; -1: no limit."
)
@click.option(
    "--acks", type=click.Choice(["0", "1", "-1"]), default="-1", show_default=True, help="Required acknowledgements."
)
@click.option(
    "--message-create-time",
    type=int,
    default=-1,
    metavar="MS",
    help="Timestamp of the first record, in ms since 1970. Default: the current time.",
)
@click.option("--value-prefix", type=int, metavar="N", help="Prefix of each value, followed by a dot. Default: none.")
@click.option(
    "--repeating-keys",
    type=IntegerRange(min=1),
    metavar="N",
    help="Number of keys: 0 to N-1, repeated. Default: no keys.",
)
@click.option(
    "--producer.config", "--command-config", "config_file", metavar="FILE", help="Properties file of the producer."
)
@wait_options
@bootstrap_server_option
def command(
    topic: str,
    max_messages: int,
    throughput: int,
    acks: str,
    message_create_time: int,
    value_prefix: int | None,
    repeating_keys: int | None,
    config_file: str | None,
    bootstrap_server: str,
) -> int:
    """Send the numbers from 0 on, and report the delivery of each as a line of JSON.

    The events are startup_complete, producer_send_success, producer_send_error, shutdown_complete and tool_data.
    Records are not retried unless --producer.config sets retries. SIGTERM and Ctrl-C end it after all records in flight
    are acknowledged or have failed.
    """
    from kcli.client_properties import gather, producer_config
    from kcli.verifiable.events import EventWriter, on_signals, terminate
    from kcli.verifiable.producer import NumbersToSend, VerifiableProducer
    from kcore.client.producer import Producer

    settings = {"bootstrap.servers": bootstrap_server, "acks": acks, "retries": "0", **gather(config_file, (), "")}
    create_time_ms = None if message_create_time == -1 else message_create_time
    numbers = NumbersToSend(topic, max_messages, throughput, value_prefix, repeating_keys, create_time_ms)
    on_signals(terminate)
    config = producer_config(settings)
    await_broker(config)
    producer = Producer(config)
    with BrokerWatch(producer.connection_states, "Records wait, at most for delivery.timeout.ms."):
        return VerifiableProducer(producer, numbers, EventWriter()).run()
