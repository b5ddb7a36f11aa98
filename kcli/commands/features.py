"""`kcli features`: like kafka-features, the features of a cluster and their finalized levels (KIP-584)."""

from __future__ import annotations

import click

from kcli.action_group import ActionGroup
from kcli.failures import Failure, UsageFailure, raise_failures
from kcli.options import bootstrap_server_option, command_config_option, connect
from kcli.output import KAFKA, TABLE, output_option, write_rows
from kcli.properties import read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcli.output import Row

PARTICIPLES = {"upgrade": "upgraded", "downgrade": "downgraded", "disable": "disabled"}
METADATA_VERSION = "metadata.version"
# Level 1, and the levels that Apache Kafka 4 added.
FIRST_METADATA_VERSION = "3.0-IV1"
METADATA_VERSIONS_FROM_4 = (
    *("4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0"),
)
MAX_LEVEL = 2**15 - 1

levels_option = click.option(
    "--feature",
    "features",
    multiple=True,
    required=True,
    metavar="NAME=LEVEL",
    help="Feature and its new level. May be repeated.",
)
names_option = click.option(
    "--feature", "features", multiple=True, required=True, metavar="NAME", help="Feature to disable. May be repeated."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Let the cluster validate the change, do not apply it.")
unsafe_option = click.option("--unsafe", is_flag=True, help="Allow a downgrade that loses metadata.")


@click.group(
    "features",
    cls=ActionGroup,
    examples="""
    # Show supported and finalized levels
    kcli features describe
    """,
)
def command() -> None:
    """Describe and change finalized features."""


@command.command(
    "describe",
    examples="""
    # Show supported and finalized levels
    kcli features describe
    # Show them as JSON
    kcli features describe --bootstrap-server kafka:9092 -o json
    """,
)
@bootstrap_server_option
@command_config_option
@output_option
def describe(bootstrap_server: str, command_config: str | None, output: str) -> None:
    """Print the supported and finalized levels of all features."""
    from kcore.client.admin.features import FeatureAdmin

    with connect(bootstrap_server, read_properties(command_config)) as client:
        found = FeatureAdmin(client).describe_features()
    rows = []
    for name in sorted(found.supported.keys() | found.finalized.keys()):
        low, high = found.supported.get(name, (0, 0))
        rows.append(
            {
                "feature": name,
                "supported_min_version": low,
                "supported_max_version": high,
                "finalized_version_level": found.finalized.get(name, 0),
                "epoch": None if found.epoch < 0 else found.epoch,
            }
        )
    if not rows and output == TABLE:
        click.echo("This cluster has no features.", err=True)
    write_rows(rows, output, _print_features, _print_features_as_kafka)


def _print_features(rows: Iterable[Row]) -> None:
    for row in rows:
        epoch = "-" if row["epoch"] is None else row["epoch"]
        click.echo(
            f"Feature: {row['feature']}\tSupportedMinVersion: {row['supported_min_version']}\t"
            f"SupportedMaxVersion: {row['supported_max_version']}\t"
            f"FinalizedVersionLevel: {row['finalized_version_level']}\tEpoch: {epoch}"
        )


def _print_features_as_kafka(rows: Iterable[Row]) -> None:
    """Kafka 4.1 and later print columns, and releases as the levels of metadata.version."""
    for row in rows:
        epoch = "-" if row["epoch"] is None else row["epoch"]
        keys = ("supported_min_version", "supported_max_version", "finalized_version_level")
        low, high, level = (level_name(row["feature"], row[key]) for key in keys)
        click.echo(
            f"Feature: {row['feature']:<42}SupportedMinVersion: {low:<17}SupportedMaxVersion: {high:<17}"
            f"FinalizedVersionLevel: {level:<17}Epoch: {epoch}"
        )


def level_name(feature: str, level: int) -> str:
    """The level as kafka-features prints it: a number, or a release for metadata.version."""
    if feature != METADATA_VERSION:
        return str(level)
    from kcore.config import metadata_versions

    before_4 = [name for name in metadata_versions.names() if not name.startswith("4.")]
    names = [*before_4[before_4.index(FIRST_METADATA_VERSION) :], *METADATA_VERSIONS_FROM_4]
    return names[level - 1] if 1 <= level <= len(names) else f"UNKNOWN [{level}]"


@command.command(
    "upgrade",
    examples="""
    # Finalize a feature at level 2
    kcli features upgrade --feature transaction.version=2
    # Check whether this is possible
    kcli features upgrade --feature transaction.version=2 --dry-run
    """,
)
@levels_option
@dry_run_option
@bootstrap_server_option
@command_config_option
@output_option
def upgrade(
    features: tuple[str, ...], dry_run: bool, bootstrap_server: str, command_config: str | None, output: str
) -> None:
    """Finalize features at higher levels. Older brokers and clients may not support them."""
    from kcore.client.admin.features import UPGRADE

    _update("upgrade", parse_levels(features), UPGRADE, dry_run, bootstrap_server, command_config, output)


@command.command(
    "downgrade",
    examples="""
    # Finalize a feature at level 1
    kcli features downgrade --feature transaction.version=1
    # Check whether this is possible, even with loss of metadata
    kcli features downgrade --feature transaction.version=1 --unsafe --dry-run
    """,
)
@levels_option
@unsafe_option
@dry_run_option
@bootstrap_server_option
@command_config_option
@output_option
def downgrade(
    features: tuple[str, ...],
    unsafe: bool,
    dry_run: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Finalize features at lower levels."""
    kind = _downgrade_kind(unsafe)
    _update("downgrade", parse_levels(features), kind, dry_run, bootstrap_server, command_config, output)


@command.command(
    "disable",
    examples="""
    # Disable a feature
    kcli features disable --feature transaction.version
    # Check whether this is possible
    kcli features disable --feature transaction.version --dry-run
    """,
)
@names_option
@unsafe_option
@dry_run_option
@bootstrap_server_option
@command_config_option
@output_option
def disable(
    features: tuple[str, ...],
    unsafe: bool,
    dry_run: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    """Disable features: finalize them at level 0."""
    kind = _downgrade_kind(unsafe)
    _update("disable", dict.fromkeys(features, 0), kind, dry_run, bootstrap_server, command_config, output)


def _downgrade_kind(unsafe: bool) -> int:
    from kcore.client.admin.features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE

    return UNSAFE_DOWNGRADE if unsafe else SAFE_DOWNGRADE


def _update(
    verb: str,
    levels: Mapping[str, int],
    kind: int,
    dry_run: bool,
    bootstrap_server: str,
    command_config: str | None,
    output: str,
) -> None:
    from kcore.client.admin.features import FeatureAdmin
    from kcore.errors import KafkaError

    with connect(bootstrap_server, read_properties(command_config)) as client:
        outcomes: Mapping[str, KafkaError | None]
        try:
            outcomes = FeatureAdmin(client).update_features(levels, kind, validate_only=dry_run)
        except KafkaError as error:
            if output != KAFKA:
                raise
            # Newer controllers refuse the whole request; kafka-features prints the error for each feature.
            outcomes = dict.fromkeys(levels, error)
    if output == KAFKA:
        _print_outcomes_as_kafka(verb, levels, outcomes, dry_run)
        return
    rows = [
        {"feature": name, "level": levels[name], "changed": not dry_run}
        for name in sorted(levels)
        if outcomes.get(name) is None
    ]
    write_rows(rows, output, _print_changed)
    raise_failures([error for error in outcomes.values() if error is not None])


def _print_outcomes_as_kafka(
    verb: str, levels: Mapping[str, int], outcomes: Mapping[str, Exception | None], dry_run: bool
) -> None:
    """Prints the outcome of each feature. Fails with the number of failed features."""
    from kcore.client.errors import broker_message

    for name in sorted(levels):
        error = outcomes.get(name)
        goal = "" if verb == "disable" else f" to {levels[name]}"
        if error is not None:
            click.echo(f"Could not {verb} {name}{goal}. {broker_message(error)}")
        else:
            click.echo(f"{name} {'can be' if dry_run else 'was'} {PARTICIPLES[verb]}{goal}.")
    failed = sum(outcomes.get(name) is not None for name in levels)
    if failed:
        raise Failure(f"{failed} out of {len(levels)} operation(s) failed.")


def _print_changed(rows: Iterable[Row]) -> None:
    for row in rows:
        done = "is finalized at" if row["changed"] else "can be finalized at"
        click.echo(f"{row['feature']} {done} level {row['level']}.")


def parse_levels(pairs: Iterable[str]) -> dict[str, int]:
    """Parses `name=level` pairs. Raises UsageFailure for invalid pairs and repeated names."""
    levels: dict[str, int] = {}
    for pair in pairs:
        name, equals, level = pair.partition("=")
        if not equals or not name.strip() or not level.strip().isdecimal() or int(level) > MAX_LEVEL:
            raise UsageFailure(f"--feature: expected NAME=LEVEL, as in transaction.version=2, got {pair!r}")
        if name.strip() in levels:
            raise UsageFailure(f"--feature {name.strip()}: given twice; remove one")
        levels[name.strip()] = int(level)
    return levels
