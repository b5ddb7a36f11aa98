"""kafka-storage (Kafka's `StorageTool`)."""

from __future__ import annotations

import sys

from kcli.kafka_tools.option_parser import Option, ParsedWords, WrongCommandLine
from kcli.kafka_tools.tool import Tool, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SUBCOMMANDS = ("info", "format", "random-uuid")


def check(parsed: ParsedWords) -> None:
    if not parsed.others:
        raise WrongCommandLine("kafka-storage: error: too few arguments")
    if parsed.others[0] not in SUBCOMMANDS:
        raise WrongCommandLine(
            f"kafka-storage: error: argument command: invalid choice: '{parsed.others[0]}' (choose from "
            f"{', '.join(map(repr, SUBCOMMANDS))})"
        )
    if parsed.others[0] != "random-uuid" and not parsed.has("config") and not parsed.has("c"):
        raise WrongCommandLine("kafka-storage: error: argument --config/-c is required")
    if parsed.others[0] == "format" and not parsed.has("cluster-id") and not parsed.has("t"):
        raise WrongCommandLine("kafka-storage: error: argument --cluster-id/-t is required")


def fail(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    for cause in causes:
        print(words_of(cause), file=sys.stderr)


TOOL = Tool(
    name="kafka-storage",
    purpose="The Kafka storage tool.",
    command=("storage",),
    check=check,
    fail=fail,
    options=(
        Option("config", "String", help="The Kafka configuration file to use."),
        Option("c", "String", "--config", "Short for --config."),
        Option("cluster-id", "String", help="The cluster ID to use."),
        Option("t", "String", "--cluster-id", "Short for --cluster-id."),
        Option("ignore-formatted", help="Pass over directories that are formatted already."),
        Option("g", "", "--ignore-formatted", "Short for --ignore-formatted."),
        Option("release-version", "String", "", "Accepted, not used: the broker sets the levels of features."),
        Option("r", "String", "", "Short for --release-version."),
        Option("feature", "String", "", "Accepted, not used: the broker sets the levels of features."),
        Option("f", "String", "", "Short for --feature."),
        Option("standalone", to="", help="Accepted, not used: a broker is its own controller."),
        Option("s", to="", help="Short for --standalone."),
        Option("no-initial-controllers", to="", help="Accepted, not used: a broker is its own controller."),
        Option("N", to="", help="Short for --no-initial-controllers."),
    ),
)
TOOLS = {TOOL.name: TOOL}
