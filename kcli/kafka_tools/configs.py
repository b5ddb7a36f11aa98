"""kafka-configs (Kafka's `ConfigCommand`): configurations by `kcli configs`, quotas by `kcli quotas`."""

from __future__ import annotations

import sys

from kcli.kafka_tools.option_parser import Option, ParsedWords, WrongCommandLine
from kcli.kafka_tools.tool import BOOTSTRAP_SERVER, COMMAND_CONFIG, Tool, only_one_action, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ENTITIES = (
    *("topic", "client", "client-defaults", "user", "user-defaults", "broker", "broker-defaults", "broker-logger"),
    *("ip", "ip-defaults", "client-metrics", "group"),
)
# These errors are found before a request is sent. kafka-configs prints them without its command line.
ALONE = ("Invalid config(s): ", "Invalid broker logger(s): ")


def check(parsed: ParsedWords) -> None:
    action = only_one_action(parsed, ("describe", "alter"), "--describe, --alter")
    if not parsed.has("entity-type") and not any(map(parsed.has, ENTITIES)):
        raise WrongCommandLine("At least one entity type must be specified")
    if not parsed.has("bootstrap-server") and not parsed.has("bootstrap-controller"):
        raise WrongCommandLine("Either --bootstrap-server or --bootstrap-controller must be specified")
    changes = ("add-config", "add-config-file", "delete-config")
    if action == "alter" and not any(map(parsed.has, changes)):
        raise WrongCommandLine(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    for name in changes if action == "describe" else ():
        if parsed.has(name):
            raise WrongCommandLine(f"--{name} cannot be specified with --describe")


def fail(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    for text in map(words_of, causes):
        if not text.startswith(ALONE):
            print(f"Error while executing config command with args '{' '.join(words)}'", file=sys.stderr)
        print(text, file=sys.stderr)


TOOL = Tool(
    name="kafka-configs",
    purpose="This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip, "
    "client-metrics or group",
    command=("configs",),
    actions={"describe": "describe", "alter": "alter"},
    check=check,
    fail=fail,
    options=(
        BOOTSTRAP_SERVER,
        Option("bootstrap-controller", "String: controller to connect to", "--bootstrap-server"),
        COMMAND_CONFIG,
        Option("alter", help="Alter the configuration for the entity."),
        Option("describe", help="List configs for the given entity."),
        Option("all", help="List all configs for the given entity, including static configs."),
        Option("add-config", "String", help="Key value pairs of configs to add: k1=v1,k2=[v1,v2,v2],k3=v3."),
        Option("add-config-file", "String", help="Path to a properties file with configs to add."),
        Option("delete-config", "String", help="Config keys to remove: k1,k2."),
        Option("entity-type", "String", help="Type of entity (topics/clients/users/brokers/broker-loggers/ips/...)."),
        Option("entity-name", "String", help="Name of entity."),
        Option("entity-default", help="Default entity name for clients, users, ips or brokers."),
        Option("force", to="", help="Suppress console prompts."),
        *(Option(name, "" if name.endswith("-defaults") else "String", help="An entity.") for name in ENTITIES),
    ),
)
TOOLS = {TOOL.name: TOOL}
