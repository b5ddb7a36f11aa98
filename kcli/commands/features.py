"""`kcli features`: what kafka-features does: a cluster's features and the levels they are finalized at (KIP-584)."""

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
# Level 1, and those that have come with Apache Kafka 4.
FIRST_METADATA_VERSION = "3.0-IV1"
METADATA_VERSIONS_FROM_4 = (
    *("4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0"),
)
MAX_LEVEL = 2**15 - 1

levels_option = click.option(
    "--feature", "features", multiple=True, required=True, metavar="NAME=LEVEL", help="May be repeated."
)
names_option = click.option(
    "--feature", "features", multiple=True, required=True, metavar="NAME", help="May be repeated."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Only ask whether it could be done.")
unsafe_option = click.option("--unsafe", is_flag=True, help="Even where what a lower level cannot express is lost.")


@click.group("features", cls=ActionGroup)
def command() -> None:
    """Describe the features of a cluster, and change the levels they are finalized at."""


@command.command("describe")
@bootstrap_server_option
@command_config_option
@output_option
def describe(bootstrap_server: str, command_config: str | None, output: str) -> None:
    """Print the supported and the finalized levels of every feature."""
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
        click.echo("The brokers of this cluster have no features to finalize.", err=True)
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
    """In columns, since 4.1; levels of metadata.version by the names of releases."""
    for row in rows:
        epoch = "-" if row["epoch"] is None else row["epoch"]
        keys = ("supported_min_version", "supported_max_version", "finalized_version_level")
        low, high, level = (level_name(row["feature"], row[key]) for key in keys)
        click.echo(
            f"Feature: {row['feature']:<42}SupportedMinVersion: {low:<17}SupportedMaxVersion: {high:<17}"
            f"FinalizedVersionLevel: {level:<17}Epoch: {epoch}"
        )


def level_name(feature: str, level: int) -> str:
    """What kafka-features shows of a level: the number, but for metadata.version, whose levels are releases."""
    if feature != METADATA_VERSION:
        return str(level)
    from kcore.config import metadata_versions

    before_4 = [name for name in metadata_versions.names() if not name.startswith("4.")]
    names = [*before_4[before_4.index(FIRST_METADATA_VERSION) :], *METADATA_VERSIONS_FROM_4]
    return names[level - 1] if 1 <= level <= len(names) else f"UNKNOWN [{level}]"


@command.command("upgrade")
@levels_option
@dry_run_option
@bootstrap_server_option
@command_config_option
@output_option
def upgrade(
    features: tuple[str, ...], dry_run: bool, bootstrap_server: str, command_config: str | None, output: str
) -> None:
    """Finalize features at higher levels, which older brokers and clients may not understand."""
    from kcore.client.admin.features import UPGRADE

    _update("upgrade", parse_levels(features), UPGRADE, dry_run, bootstrap_server, command_config, output)


@command.command("downgrade")
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


@command.command("disable")
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
    """Finalize features at level 0, which is as if there were none."""
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
            # Newer controllers refuse all at once, and kafka-features tells it of each.
            outcomes = dict.fromkeys(levels, error)
    if output == KAFKA:
        _tell_as_kafka(verb, levels, outcomes, dry_run)
        return
    rows = [
        {"feature": name, "level": levels[name], "changed": not dry_run}
        for name in sorted(levels)
        if outcomes.get(name) is None
    ]
    write_rows(rows, output, _print_changed)
    raise_failures([error for error in outcomes.values() if error is not None])


def _tell_as_kafka(
    verb: str, levels: Mapping[str, int], outcomes: Mapping[str, Exception | None], dry_run: bool
) -> None:
    """What became of each, and in the end how many failed."""
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
        done = "is at" if row["changed"] else "can be brought to"
        click.echo(f"{row['feature']} {done} level {row['level']}.")


def parse_levels(pairs: Iterable[str]) -> dict[str, int]:
    """`name=level` pairs; UsageFailure for one that is none, or a name that stands twice."""
    levels: dict[str, int] = {}
    for pair in pairs:
        name, equals, level = pair.partition("=")
        if not equals or not name.strip() or not level.strip().isdecimal() or int(level) > MAX_LEVEL:
            raise UsageFailure(f"--feature {pair!r}: must be written NAME=LEVEL, as in transaction.version=2")
        if name.strip() in levels:
            raise UsageFailure(f"--feature {name.strip()}: stands there twice")
        levels[name.strip()] = int(level)
    return levels
