"""kafka-consumer-groups (Kafka's `ConsumerGroupCommand`)."""

from __future__ import annotations

import sys

from kcli.consumer_groups.kafka_text import NOT_HOSTED, java_text
from kcli.failures import Failure, NotThere
from kcli.kafka_tools.option_parser import Option, ParsedWords, WrongCommandLine
from kcli.kafka_tools.tool import BOOTSTRAP_SERVER, COMMAND_CONFIG, Tool, require, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
LISTING = "--list, --describe, --delete, --reset-offsets, --delete-offsets, --validate-regex"


def check(parsed: ParsedWords) -> None:
    given = [name for name in ACTIONS if parsed.has(name)]
    if len(given) != 1:
        raise WrongCommandLine(f"Command must include exactly one action: {LISTING}.")
    if given[0] != "validate-regex":
        require(parsed, "bootstrap-server")
    if given[0] in ("describe", "delete", "reset-offsets") and not (parsed.has("group") or parsed.has("all-groups")):
        raise WrongCommandLine(f"Option [{given[0]}] takes one of these options: [group], [all-groups]")
    if given[0] == "delete-offsets" and not (parsed.has("group") and parsed.has("topic")):
        raise WrongCommandLine("Option [delete-offsets] takes the following options: [group], [topic]")


def extra(parsed: ParsedWords) -> list[str]:
    return ["--yes"] if parsed.has("delete") or parsed.has("delete-offsets") else []


def fail(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    """Exceptions are printed as Java prints them, and also on stderr."""
    for cause in causes:
        if isinstance(cause, Failure) and cause.as_kafka:
            print(f"\nError: {cause.as_kafka}")
            continue
        text = (
            NOT_HOSTED
            if isinstance(cause, NotThere)
            else words_of(cause)
            if isinstance(cause, str)
            else java_text(cause)
        )
        print(f"\nError: Executing consumer group command failed due to {text}")
        print(text, file=sys.stderr)


TOOL = Tool(
    name="kafka-consumer-groups",
    purpose="This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or "
    "reset consumer group offsets.",
    command=("groups",),
    actions={action: action for action in ACTIONS},
    check=check,
    extra=extra,
    fail=fail,
    failed_code=0,
    options=(
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option("list", help="List all consumer groups."),
        Option("describe", help="Describe consumer group and list offset lag (number of messages not yet processed)."),
        Option("delete", help="Pass in groups to delete topic partition offsets and ownership information."),
        Option("reset-offsets", help="Reset offsets of consumer group."),
        Option("delete-offsets", help="Delete offsets of consumer group."),
        Option("validate-regex", "String: regex", to="", help="Validate that the syntax of the regex is valid."),
        Option("group", "String: consumer group", help="The consumer group we wish to act on."),
        Option("all-groups", help="Apply to all consumer groups."),
        Option("topic", "String: topic", help="The topic whose consumer group information should be changed."),
        Option("all-topics", help="Consider all topics assigned to a group."),
        Option("timeout", "Long: timeout (ms)", help="The timeout that can be set for some use cases."),
        Option("offsets", help="Describe the group and list all topic partitions in it along with their lag."),
        Option("members", help="Describe members of the group."),
        Option("state", "[String]", help="Describe the state of groups, or list them with it."),
        Option("type", "[String]", help="List groups with their types."),
        Option("verbose", help="Provide additional information, if any, when describing the group."),
        Option("dry-run", help="Only show results without executing changes."),
        Option("execute", help="Execute operation."),
        Option("export", help="Export operation execution to a CSV file."),
        Option("to-offset", "Long: offset", help="Reset offsets to a specific offset."),
        Option("shift-by", "Long: number-of-offsets", help="Reset offsets shifting current offset by n."),
        Option("to-datetime", "String: datetime", help="Reset offsets to offset from datetime."),
        Option("by-duration", "String: duration", help="Reset offsets to offset by duration from current timestamp."),
        Option("to-earliest", help="Reset offsets to earliest offset."),
        Option("to-latest", help="Reset offsets to latest offset."),
        Option("to-current", help="Reset offsets to current offset."),
        Option("from-file", "String: path to CSV file", help="Reset offsets to values defined in CSV file."),
    ),
)
TOOLS = {TOOL.name: TOOL}
