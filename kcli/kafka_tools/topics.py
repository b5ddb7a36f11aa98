"""kafka-topics (Kafka's `TopicCommand`)."""

from __future__ import annotations

from kcli.failures import Failure, NotThere
from kcli.kafka_tools.option_parser import Option, ParsedWords, WrongCommandLine
from kcli.kafka_tools.tool import BOOTSTRAP_SERVER, COMMAND_CONFIG, Tool, only_one_action, require, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ACTIONS = ("list", "describe", "create", "alter", "delete")
# The actions that allow an option; others refuse it.
ALLOWED = {
    "config": ("create",),
    "partitions": ("create", "alter"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    "under-replicated-partitions": ("describe",),
    "under-min-isr-partitions": ("describe",),
    "at-min-isr-partitions": ("describe",),
    "unavailable-partitions": ("describe",),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}


def check(parsed: ParsedWords) -> None:
    action = only_one_action(parsed, ACTIONS, "--list, --describe, --create, --alter or --delete")
    if not parsed.has("bootstrap-server"):
        raise WrongCommandLine("--bootstrap-server must be specified")
    if action in ("create", "alter"):
        require(parsed, "topic")
    if action == "delete" and not parsed.has("topic"):
        raise WrongCommandLine('Missing required argument "[topic]"')
    if action == "alter":
        require(parsed, "partitions")
    _check_numbers(parsed)
    for name, actions in ALLOWED.items():
        if parsed.has(name) and action not in actions:
            raise WrongCommandLine(f'Option "[{name}]" can\'t be used with option "[{action}]"')


def _check_numbers(parsed: ParsedWords) -> None:
    for name, high, rule in (
        ("partitions", 2**31 - 1, "The partitions must be greater than 0"),
        ("replication-factor", 2**15 - 1, "The replication factor must be between 1 and 32767 inclusive"),
    ):
        for text in parsed.values(name):
            if not text.lstrip("-").isdecimal():
                raise WrongCommandLine(f"Cannot parse argument '{text}' of option {name}")
            if not 1 <= int(text) <= high:
                raise Failure(rule)


def extra(parsed: ParsedWords) -> list[str]:
    return ["--yes"] if parsed.has("delete") else []


def fail(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    cause = causes[0]
    text = f"Topic '{cause.name}' does not exist as expected" if isinstance(cause, NotThere) else words_of(cause)
    print(f"Error while executing topic command : {text}")


TOOL = Tool(
    name="kafka-topics",
    alone="Create, delete, describe, or change a topic.",
    purpose="This tool helps to create, delete, describe, or change a topic.",
    command=("topics",),
    actions={action: action for action in ACTIONS},
    check=check,
    extra=extra,
    fail=fail,
    options=(
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option("alter", help="Alter the number of partitions and replica assignment."),
        Option("create", help="Create a new topic."),
        Option("delete", help="Delete a topic."),
        Option("describe", help="List details for the given topics."),
        Option("list", help="List all available topics."),
        Option("topic", "String: topic", help="The topic to create, alter, describe or delete; a regular expression."),
        Option("topic-id", "String: topic-id", help="The topic-id to describe."),
        Option("config", "String: name=value", help="A topic configuration override for the topic being created."),
        Option("partitions", "Integer: # of partitions", help="The number of partitions for the topic."),
        Option("replication-factor", "Integer: replication factor", help="The replication factor for each partition."),
        Option("replica-assignment", "String: id:id,...", help="A list of manual partition-to-broker assignments."),
        Option("under-replicated-partitions", help="Describe only under-replicated partitions."),
        Option("under-min-isr-partitions", help="Describe only partitions whose isr count is less than the minimum."),
        Option("at-min-isr-partitions", help="Describe only partitions whose isr count is equal to the minimum."),
        Option("unavailable-partitions", help="Describe only partitions whose leader is not available."),
        Option("topics-with-overrides", help="Describe only topics that have overridden configs."),
        Option("if-exists", help="Execute only if the topic exists."),
        Option("if-not-exists", help="Create only if the topic does not already exist."),
        Option("exclude-internal", help="Exclude internal topics when listing or describing."),
        Option(
            "partition-size-limit-per-response", "Integer: maximum", help="How many partitions to ask for at a time."
        ),
        Option("delete-config", "String: name", to="", help="Not supported. Use kafka-configs."),
    ),
)
TOOLS = {TOOL.name: TOOL}
