"""kafka-delete-records, kafka-get-offsets and kafka-dump-log."""

from __future__ import annotations

import sys

from kcli.failures import Failure, NotThere
from kcli.kafka_tools.option_parser import Option, ParsedWords, WrongCommandLine
from kcli.kafka_tools.tool import BOOTSTRAP_SERVER, COMMAND_CONFIG, Tool, require, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NO_MATCH = "Could not match any topic-partitions with the specified filters"


def fail_to_delete(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    """Errors of partitions are printed on stdout, among the results; see `kcli records delete`."""
    for cause in causes:
        print(f"Error while executing delete records command: {words_of(cause)}", file=sys.stderr)


def fail_to_find(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    cause = causes[0]
    print(f"Error occurred: {NO_MATCH if isinstance(cause, NotThere) else words_of(cause)}", file=sys.stderr)


def fail_to_dump(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    for cause in causes:
        print(words_of(cause), file=sys.stderr)


def check_files(parsed: ParsedWords) -> None:
    if not parsed.has("files"):
        raise WrongCommandLine('Missing required argument "[files]"')


def check_offsets(parsed: ParsedWords) -> None:
    if not parsed.has("broker-list"):
        require(parsed, "bootstrap-server")
    from kcli.commands.get_offsets import parse_time

    for text in parsed.values("time"):
        try:
            parse_time(text)
        except Failure:
            raise Failure(
                f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / "
                "-4 or earliest-local / -5 or latest-tiered, or a specified long format timestamp"
            ) from None


DELETE_RECORDS = Tool(
    name="kafka-delete-records",
    purpose="This tool helps to delete records of the given partitions down to the specified offset.",
    command=("records", "delete"),
    check=lambda parsed: require(parsed, "bootstrap-server", "offset-json-file"),
    extra=lambda parsed: ["--yes"],
    fail=fail_to_delete,
    options=(
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option("offset-json-file", "String: Offset json file path", help="REQUIRED: The JSON file with offsets."),
    ),
)
GET_OFFSETS = Tool(
    name="kafka-get-offsets",
    purpose="An interactive shell for getting topic-partition offsets.",
    command=("get-offsets",),
    check=check_offsets,
    fail=fail_to_find,
    options=(
        BOOTSTRAP_SERVER,
        Option("broker-list", "String: HOST1:PORT1,...", "--bootstrap-server", "DEPRECATED, use --bootstrap-server."),
        COMMAND_CONFIG,
        Option("topic", "String: topic", help="The topic to get the offsets for; a regular expression."),
        Option("partitions", "String: partition ids", help="Comma separated list of partition ids."),
        Option("topic-partitions", "String: topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3", help="Patterns."),
        Option("time", "String: <timestamp> / -1 or latest / ...", help="Timestamp of the offsets before that."),
        Option("exclude-internal-topics", help="By default, internal topics are included."),
    ),
)
DUMP_LOG = Tool(
    name="kafka-dump-log",
    purpose="This tool helps to parse a log file and dump its contents to the console, useful for debugging a "
    "seemingly corrupt log segment.",
    command=("dump-log",),
    check=check_files,
    fail=fail_to_dump,
    has_output_form=False,
    options=(
        Option("files", "String: file1, file2, ...", help="REQUIRED: The files to be dumped."),
        Option("print-data-log", help="Print the messages content when dumping data logs."),
        Option("deep-iteration", help="Use deep instead of shallow iteration."),
        Option("skip-record-metadata", help="Skip printing record metadata."),
        Option("verify-index-only", help="Just verify the index log without printing its content."),
        Option("index-sanity-check", help="Just check the index sanity without printing its content."),
        Option("offsets-decoder", help="Parse log data as offset data from the __consumer_offsets topic."),
        Option("max-bytes", "Integer: size", help="Limit the amount of total batches read in bytes."),
        Option("max-message-size", "Integer: size", help="Size of largest message."),
        Option("key-decoder-class", "[String]", help="Used to deserialize the keys."),
        Option("value-decoder-class", "[String]", help="Used to deserialize the messages."),
    ),
)
TOOLS = {tool.name: tool for tool in (DELETE_RECORDS, GET_OFFSETS, DUMP_LOG)}
