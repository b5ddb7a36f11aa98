"""`kcli cluster`: like kafka-cluster, the id of a cluster and the addresses of its brokers."""

from __future__ import annotations

import click

from kcli.action_group import ActionGroup
from kcli.failures import Failure
from kcli.options import bootstrap_server_option, command_config_option, connect
from kcli.output import KAFKA, TABLE, output_option, write_object, write_rows
from kcli.properties import read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.output import Row

HOST_HEADING = "HOST"


@click.group(
    "cluster",
    cls=ActionGroup,
    examples="""
    # List the brokers with their addresses
    kcli cluster list-endpoints
    """,
)
def command() -> None:
    """Show the cluster id and brokers."""


@command.command(
    "cluster-id",
    examples="""
    # Print the cluster id
    kcli cluster cluster-id
    # Print the cluster id and the id of the controller as JSON
    kcli cluster cluster-id --bootstrap-server kafka:9092 -o json
    """,
)
@bootstrap_server_option
@command_config_option
@output_option
def cluster_id(bootstrap_server: str, command_config: str | None, output: str) -> None:
    """Print the cluster id."""
    from kcore.client.admin.clusters import ClusterAdmin

    with connect(bootstrap_server, read_properties(command_config)) as client:
        found = ClusterAdmin(client).describe_cluster()
    if output not in (TABLE, KAFKA):
        write_object({"cluster_id": found.cluster_id, "controller": found.controller_id})
    elif output == TABLE:
        click.echo(found.cluster_id)
    elif found.cluster_id is None:
        click.echo("No cluster ID found. The Kafka version is probably too old.")
    else:
        click.echo(f"Cluster ID: {found.cluster_id}")


@command.command(
    "list-endpoints",
    examples="""
    # List the brokers with their addresses
    kcli cluster list-endpoints
    # List the brokers of another cluster as JSON
    kcli cluster list-endpoints --bootstrap-server kafka:9092 -o json
    """,
)
@click.option("--include-fenced-brokers", is_flag=True, help="Include brokers that the controller has fenced.")
@bootstrap_server_option
@command_config_option
@output_option
def list_endpoints(
    include_fenced_brokers: bool, bootstrap_server: str, command_config: str | None, output: str
) -> None:
    """List the brokers with the addresses for clients."""
    from kcore.client.admin.clusters import ClusterAdmin

    with connect(bootstrap_server, read_properties(command_config)) as client:
        brokers = ClusterAdmin(client).describe_cluster().brokers
    rows = [{"id": broker.id, "host": broker.host, "port": broker.port, "rack": broker.rack} for broker in brokers]
    write_rows(rows, output, print_as_kafka=_print_as_kafka)


def _print_as_kafka(rows: Iterable[Row]) -> None:
    listed = [(row["id"], row["host"], row["port"], row["rack"] or "null", "unfenced", "broker") for row in rows]
    width = max([len(HOST_HEADING), *(len(row[1]) for row in listed)])
    for row in [("ID", HOST_HEADING, "PORT", "RACK", "STATE", "ENDPOINT_TYPE"), *listed]:
        click.echo("{0:<10} {1:<{width}} {2:<10} {3:<10} {4:<10} {5:<15}".format(*row, width=width))


@command.command(
    "unregister",
    hidden=True,
    examples="""
    # Ask the cluster to unregister broker 3
    kcli cluster unregister --id 3
    # Ask another cluster
    kcli cluster unregister --bootstrap-server kafka:9092 --id 3
    """,
)
@click.option("--id", "broker_id", type=int, required=True, metavar="ID", help="Id of the broker to unregister.")
@bootstrap_server_option
@command_config_option
@output_option
def unregister(broker_id: int, bootstrap_server: str, command_config: str | None, output: str) -> None:
    """Unregister a broker. Not supported: clusters without KRaft controllers have no such API."""
    text = "The target cluster does not support the broker unregistration API."
    if output != KAFKA:
        raise Failure(text)
    click.echo(text)
