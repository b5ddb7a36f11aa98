"""kafka-leader-election (Kafka's `LeaderElectionCommand`)."""

from __future__ import annotations

import sys

from kcli.kafka_tools.option_parser import Option, ParsedWords, WrongCommandLine
from kcli.kafka_tools.tool import BOOTSTRAP_SERVER, Tool, require, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

WHICH = ("topic", "path-to-json-file", "all-topic-partitions")


def check(parsed: ParsedWords) -> None:
    require(parsed, "bootstrap-server")
    if not parsed.has("election-type"):
        raise WrongCommandLine("Missing required option(s): election-type")
    named = [name for name in WHICH if parsed.has(name)]
    if len(named) != 1:
        stated = ", ".join(named)
        raise WrongCommandLine(
            f"One and only one of the following options is required: {', '.join(WHICH)}"
            if not named
            else f"Options cannot be combined: {stated}; one and only one of {', '.join(WHICH)} is required"
        )
    if parsed.has("topic") != parsed.has("partition"):
        missing, other = ("partition", "topic") if parsed.has("topic") else ("topic", "partition")
        raise WrongCommandLine(f"Missing required option(s): {missing}, which {other} needs")


def fail(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    for cause in causes:
        print(words_of(cause), file=sys.stderr)


TOOL = Tool(
    name="kafka-leader-election",
    purpose="This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported "
    "are preferred replicas and unclean replicas.",
    command=("partitions", "elect-leaders"),
    check=check,
    fail=fail,
    options=(
        BOOTSTRAP_SERVER,
        Option("admin.config", "String: config file", "--command-config", "Properties for the admin client."),
        Option("election-type", "PREFERRED|UNCLEAN: election type", help="Type of election to attempt."),
        Option("topic", "String: topic name", help="Name of topic for which to perform an election."),
        Option("partition", "Integer: partition id", help="Partition id for which to perform an election."),
        Option("path-to-json-file", "String: Path to JSON file", help="The JSON file with the list of partitions."),
        Option("all-topic-partitions", help="Perform election on all of the eligible topic partitions."),
    ),
)
TOOLS = {TOOL.name: TOOL}
