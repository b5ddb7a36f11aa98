"""`kcli broker-api-versions`: like kafka-broker-api-versions, the API versions that brokers support."""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.options import bootstrap_server_option, command_config_option, connect
from kcli.output import KAFKA, TABLE, output_option, write_rows
from kcli.properties import read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcli.output import Row
    from kcore.client.metadata.cluster import Node


# Printed since Kafka 4.1. Fenced brokers are never listed here.
FENCED = " isFenced: false"


@click.command(
    "broker-api-versions",
    cls=Command,
    examples="""
    # Print the API versions of all brokers
    kcli broker-api-versions
    # Print them as one JSON object per line
    kcli broker-api-versions --bootstrap-server kafka:9092 -o jsonl
    """,
)
@bootstrap_server_option
@command_config_option
@output_option
def command(bootstrap_server: str, command_config: str | None, output: str) -> None:
    """Print the API versions that each broker supports, and the newest version that this client can use."""
    from kcore.client.admin.features import FeatureAdmin

    with connect(bootstrap_server, read_properties(command_config)) as client:
        admin = FeatureAdmin(client)
        found = [(broker, _rows(broker, admin.api_versions(broker))) for broker in admin.brokers()]
    if output in (TABLE, KAFKA):
        for broker, rows in found:
            _print_broker(broker, rows, FENCED if output == KAFKA else "")
    else:
        write_rows((row for _, rows in found for row in rows), output)


def _rows(broker: Node, versions: dict[int, tuple[int, int]]) -> list[Row]:
    from kcore.protocol.apis import BY_KEY

    rows: list[Row] = []
    for key, (low, high) in sorted(versions.items()):
        api = BY_KEY.get(key)
        usable = min(high, api.max_version) if api is not None else -1
        rows.append(
            {
                "broker": broker.id,
                "api": f"UNKNOWN_{key}" if api is None else api.name,
                "key": key,
                "min_version": low,
                "max_version": high,
                "usable_version": None if api is None or usable < max(low, api.min_version) else usable,
            }
        )
    return rows


def _print_broker(broker: Node, rows: list[Row], fenced: str) -> None:
    """In the format of kafka-broker-api-versions."""
    lines = []
    for row in rows:
        low, high = row["min_version"], row["max_version"]
        versions = str(low) if low == high else f"{low} to {high}"
        usable = "UNSUPPORTED" if row["usable_version"] is None else f"usable: {row['usable_version']}"
        lines.append(f"\t{row['api']}({row['key']}): {versions} [{usable}]")
    click.echo(f"{broker} (id: {broker.id} rack: {broker.rack or 'null'}{fenced}) -> (")
    click.echo(",\n".join(lines))
    click.echo(")")
