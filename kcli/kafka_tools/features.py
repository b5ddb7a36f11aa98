"""kafka-features (Kafka's `FeatureCommand`)."""

from __future__ import annotations

import sys

from kcli.kafka_tools.option_parser import Option, ParsedWords, WrongCommandLine
from kcli.kafka_tools.tool import BOOTSTRAP_SERVER, COMMAND_CONFIG, Tool, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SUBCOMMANDS = ("describe", "upgrade", "downgrade", "disable", "version-mapping", "feature-dependencies")
SERVED = SUBCOMMANDS[:4]


def check(parsed: ParsedWords) -> None:
    if not parsed.has("bootstrap-server") and not parsed.has("bootstrap-controller"):
        raise WrongCommandLine(
            "kafka-features: error: one of the arguments --bootstrap-server --bootstrap-controller is required"
        )
    if not parsed.others:
        raise WrongCommandLine("kafka-features: error: too few arguments")
    if parsed.others[0] not in SUBCOMMANDS:
        raise WrongCommandLine(
            f"kafka-features: error: argument command: invalid choice: '{parsed.others[0]}' (choose from "
            f"{', '.join(map(repr, SUBCOMMANDS))})"
        )
    if parsed.others[0] not in SERVED:
        raise WrongCommandLine(
            f"kafka-features: {parsed.others[0]} is not supported: it describes releases of Apache Kafka"
        )


def fail(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    for cause in causes:
        print(words_of(cause), file=sys.stderr)


TOOL = Tool(
    name="kafka-features",
    purpose="This tool manages feature flags in Kafka.",
    command=("features",),
    check=check,
    fail=fail,
    options=(
        BOOTSTRAP_SERVER,
        Option("bootstrap-controller", "String: controller to connect to", "--bootstrap-server"),
        COMMAND_CONFIG,
        Option("feature", "String", help="A feature upgrade we should perform, in feature=level format."),
        Option("dry-run", help="Validate the changes, but do not perform them."),
        Option("unsafe", help="Perform this downgrade even if it may irreversibly destroy metadata."),
    ),
)
TOOLS = {TOOL.name: TOOL}
