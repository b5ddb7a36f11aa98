"""kafka-cluster, kafka-log-dirs and kafka-broker-api-versions."""

from __future__ import annotations

import sys

from kcli.kafka_tools.option_parser import Option, ParsedWords, WrongCommandLine
from kcli.kafka_tools.tool import BOOTSTRAP_SERVER, COMMAND_CONFIG, Tool, require, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SUBCOMMANDS = ("cluster-id", "unregister", "list-endpoints")


def fail(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    for cause in causes:
        print(f"ERROR: {words_of(cause)}", file=sys.stderr)


def check_subcommand(parsed: ParsedWords) -> None:
    if not parsed.others:
        raise WrongCommandLine("kafka-cluster: error: too few arguments")
    if parsed.others[0] not in SUBCOMMANDS:
        raise WrongCommandLine(
            f"kafka-cluster: error: argument command: invalid choice: '{parsed.others[0]}' (choose from "
            f"{', '.join(map(repr, SUBCOMMANDS))})"
        )
    if not parsed.has("bootstrap-server") and not parsed.has("bootstrap-controller"):
        raise WrongCommandLine("kafka-cluster: error: one of --bootstrap-server and --bootstrap-controller is required")
    if parsed.others[0] == "unregister" and not parsed.has("id"):
        raise WrongCommandLine("kafka-cluster: error: argument --id/-i is required")


def check_log_dirs(parsed: ParsedWords) -> None:
    require(parsed, "bootstrap-server", "describe")


CLUSTER = Tool(
    name="kafka-cluster",
    purpose="The Kafka cluster tool.",
    command=("cluster",),
    check=check_subcommand,
    fail=fail,
    options=(
        BOOTSTRAP_SERVER,
        Option("b", "String", "--bootstrap-server", "Short for --bootstrap-server."),
        Option("bootstrap-controller", "String: controller to connect to", "--bootstrap-server"),
        Option("config", "String: property file", "--command-config", "Properties to be passed to the admin client."),
        Option("c", "String", "--command-config", "Short for --config."),
        COMMAND_CONFIG,
        Option("id", "Integer", help="The ID of the broker to unregister."),
        Option("i", "Integer", "--id", "Short for --id."),
        Option("include-fenced-brokers", help="Whether to include fenced brokers when listing broker endpoints."),
    ),
)
LOG_DIRS = Tool(
    name="kafka-log-dirs",
    purpose="This tool helps to query log directory usage on the specified brokers.",
    command=("log-dirs",),
    actions={"describe": "describe"},
    check=check_log_dirs,
    fail=fail,
    options=(
        BOOTSTRAP_SERVER,
        COMMAND_CONFIG,
        Option("describe", help="Describe the specified log directories on the specified brokers."),
        Option("broker-list", "String: Broker list", help="The list of brokers to be queried."),
        Option("topic-list", "String: Topic list", help="The list of topics to be queried."),
    ),
)
API_VERSIONS = Tool(
    name="kafka-broker-api-versions",
    purpose="This tool helps to retrieve broker version information.",
    command=("broker-api-versions",),
    check=lambda parsed: require(parsed, "bootstrap-server"),
    fail=fail,
    options=(BOOTSTRAP_SERVER, COMMAND_CONFIG),
)
TOOLS = {tool.name: tool for tool in (CLUSTER, LOG_DIRS, API_VERSIONS)}
