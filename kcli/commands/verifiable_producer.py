"""`kcli verifiable-producer`: what kafka-verifiable-producer does, and in its words."""

from __future__ import annotations

import click

from kcli.broker_connection import BrokerWatch, await_broker, wait_options
from kcli.completion import complete_topics
from kcli.options import bootstrap_server_option


@click.command("verifiable-producer")
@click.option("--topic", required=True, shell_complete=complete_topics, help="The topic to write to.")
@click.option("--max-messages", type=int, default=-1, show_default=True, help="How many; -1: until it is ended.")
@click.option("--throughput", type=int, default=-1, show_default=True, help="Records a second; -1: no limit.")
@click.option("--acks", type=click.Choice(["0", "1", "-1"]), default="-1", show_default=True, help="To wait for.")
@click.option("--message-create-time", type=int, default=-1, help="The first record's timestamp, in ms since 1970.")
@click.option("--value-prefix", type=int, help="What stands before each number, with a dot.")
@click.option("--repeating-keys", type=click.IntRange(min=1), help="Keys from 0 up to this, and from 0 again.")
@click.option(
    "--producer.config", "--command-config", "config_file", metavar="FILE", help="Properties of the producer."
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
    """Send the numbers from 0 on, and print what becomes of each as a line of JSON.

    The events are startup_complete, producer_send_success, producer_send_error, shutdown_complete and tool_data.
    Nothing is sent twice, unless --producer.config sets retries. SIGTERM and Ctrl-C end it once all is answered.
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
    with BrokerWatch(producer.connection_states, "Records wait for it, within delivery.timeout.ms."):
        return VerifiableProducer(producer, numbers, EventWriter()).run()
