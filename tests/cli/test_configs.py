"""`kcli configs`: the whole of what it prints, its exit codes, the reference, and Apache Kafka's tool beside it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli


def test_a_topics_configuration_from_setting_to_deletion(kcli: Kcli) -> None:
    kcli("topics", "create", "cfg-changed")
    assert kcli("configs", "describe", "--topic", "cfg-changed") == (
        0,
        "Dynamic configs for topic cfg-changed are:\n",
        "",
    )
    changes = "retention.ms=5000,cleanup.policy=[compact,delete]"
    altered = kcli("configs", "alter", "--topic", "cfg-changed", "--add-config", changes)
    assert altered == (0, "Completed updating config for topic cfg-changed.\n", "")
    assert kcli("configs", "describe", "--entity-type", "topics", "--entity-name", "cfg-changed").stdout == (
        "Dynamic configs for topic cfg-changed are:\n"
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
        "  retention.ms=5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5000}\n"
    )
    kcli("configs", "alter", "--topic", "cfg-changed", "--delete-config", "retention.ms,cleanup.policy")
    assert (
        kcli("configs", "describe", "--topic", "cfg-changed").stdout == "Dynamic configs for topic cfg-changed are:\n"
    )


def test_the_options_of_kafka_configs(kcli: Kcli, tmp_path: Path) -> None:
    kcli("topics", "create", "cfg-kafka")
    file = tmp_path / "changes.properties"
    file.write_text("segment.bytes=4096\nretention.ms=77\n")
    place = ("--entity-type", "topics", "--entity-name", "cfg-kafka")
    assert kcli("configs", "--alter", *place, "--add-config-file", file).code == 0
    described = kcli("configs", "--describe", *place, "--all")
    assert described.stdout.startswith("All configs for topic cfg-kafka are:\n  cleanup.policy=delete sensitive=false ")
    assert "\n  segment.bytes=4096 sensitive=false " in described.stdout
    assert len(described.stdout.splitlines()) == 34


def test_json_has_stable_keys(kcli: Kcli) -> None:
    kcli("topics", "create", "cfg-json")
    altered = kcli("configs", "alter", "--topic", "cfg-json", "--add-config", "retention.ms=5", "-o", "json")
    assert json.loads(altered.stdout) == [
        {
            "entity_type": "topics",
            "entity_name": "cfg-json",
            "set": {"retention.ms": "5"},
            "deleted": [],
            "validated_only": False,
        }
    ]
    (line,) = kcli("configs", "describe", "--topic", "cfg-json", "-o", "jsonl").stdout.splitlines()
    assert json.loads(line) == {
        "entity_type": "topics",
        "entity_name": "cfg-json",
        "configs": [
            {
                "name": "retention.ms",
                "value": "5",
                "source": "DYNAMIC_TOPIC_CONFIG",
                "sensitive": False,
                "read_only": False,
                "synonyms": [{"name": "retention.ms", "value": "5", "source": "DYNAMIC_TOPIC_CONFIG"}],
            }
        ],
    }


def test_one_broker_and_all_brokers(kcli: Kcli) -> None:
    assert kcli("configs", "alter", "--broker-defaults", "--add-config", "log.retention.bytes=6000") == (
        0,
        "Completed updating default config for brokers in the cluster.\n",
        "",
    )
    assert kcli("configs", "alter", "--broker", "1", "--add-config", "log.retention.bytes=5000") == (
        0,
        "Completed updating config for broker 1.\n",
        "",
    )
    assert kcli("configs", "describe", "--entity-type", "brokers").stdout == (
        "Dynamic configs for broker 1 are:\n"
        "  log.retention.bytes=5000 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.retention.bytes=5000, "
        "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.bytes=6000, DEFAULT_CONFIG:log.retention.bytes=-1}\n"
        "Default configs for brokers in the cluster are:\n"
        "  log.retention.bytes=6000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.bytes=6000}\n"
    )
    for place in (("--broker", "1"), ("--entity-type", "brokers", "--entity-default")):
        assert kcli("configs", "alter", *place, "--delete-config", "log.retention.bytes").code == 0


def test_a_brokers_loggers(kcli: Kcli, broker: BrokerProcess) -> None:
    place = ("--broker-logger", "1")
    assert kcli("configs", "alter", *place, "--add-config", "kcore.controller=DEBUG") == (
        0,
        "Completed updating config for broker-logger 1.\n",
        "",
    )
    assert "  kcore.controller=DEBUG sensitive=false synonyms={}\n" in kcli("configs", "describe", *place).stdout
    assert kcli("configs", "alter", *place, "--delete-config", "kcore.controller").code == 0
    assert "  kcore.controller=INFO " in kcli("configs", "describe", *place).stdout


def test_what_is_only_validated(kcli: Kcli) -> None:
    kcli("topics", "create", "cfg-validated")
    place = ("configs", "alter", "--topic", "cfg-validated", "--validate-only", "--add-config")
    assert kcli(*place, "retention.ms=5") == (0, "Validated config for topic cfg-validated.\n", "")
    assert kcli(*place, "retention.ms=x").code == 1
    described = kcli("configs", "describe", "--topic", "cfg-validated").stdout
    assert described == "Dynamic configs for topic cfg-validated are:\n"


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (
            ["--topic", "cfg-wrong", "--add-config", "retention.ms=x"],
            1,
            "topic cfg-wrong: Invalid value x for configuration retention.ms: Not a number of type LONG "
            "(INVALID_CONFIG)",
        ),
        (
            ["--topic", "cfg-wrong", "--add-config", "retention.mss=5"],
            1,
            "topic cfg-wrong: Unknown topic config name: retention.mss (INVALID_CONFIG); did you mean retention.ms?",
        ),
        (
            ["--topic", "cfg-none", "--add-config", "retention.ms=5"],
            1,
            "topic cfg-none: The topic 'cfg-none' does not exist. (UNKNOWN_TOPIC_OR_PARTITION)",
        ),
        (
            ["--broker-defaults", "--add-config", "log.dirs=/x"],
            1,
            "all brokers: Cannot update these configs dynamically: Set(log.dirs) (INVALID_REQUEST)",
        ),
        (
            ["--topic", "cfg-wrong", "--delete-config", "segment.ms"],
            1,
            "cannot delete segment.ms: not set on this entity. Show what is set with: kcli configs describe",
        ),
        (
            ["--topic", "cfg-wrong", "--add-config", "retention.ms"],
            2,
            "--add-config: expected NAME=VALUE or NAME=[VALUE,VALUE], got 'retention.ms'",
        ),
        (
            ["--topic", "cfg-wrong"],
            2,
            "nothing to change: pass --add-config, --add-config-file or --delete-config",
        ),
        (
            ["--add-config", "retention.ms=5"],
            2,
            "name one entity: --topic TOPIC, --broker ID, --broker-defaults or --entity-type TYPE",
        ),
        (
            ["--topic", "a", "--broker", "1", "--add-config", "retention.ms=5"],
            2,
            "--topic and --broker cannot be combined: pass one of them",
        ),
        (
            ["--entity-type", "topics", "--add-config", "retention.ms=5"],
            2,
            "no entity is named: pass --entity-name or --entity-default",
        ),
        (
            ["--broker", "one", "--add-config", "retention.ms=5"],
            2,
            "invalid broker id 'one': must be a number, as in --broker 1",
        ),
    ],
)
def test_what_cannot_be_altered(kcli: Kcli, arguments: list[str], code: int, complaint: str) -> None:
    kcli("topics", "create", "cfg-wrong", "--if-not-exists")
    assert kcli("configs", "alter", *arguments) == (code, "", f"kcli configs alter: {complaint}\n")


def test_an_unknown_broker_configuration_is_reported(kcli: Kcli) -> None:
    change = ("configs", "alter", "--broker", "1", "--add-config", "num.network.thread=3", "--validate-only")
    altered = kcli(*change)
    assert (altered.code, altered.stdout) == (0, "Validated config for broker 1.\n")
    warning = (
        "kcli configs alter: warning: unknown broker configuration num.network.thread. Did you "
        "mean num.network.threads?\n"
    )
    assert altered.stderr == warning
    assert kcli(*change, "-o", "kafka").stderr == "", "the output of kafka-configs has no warning"


def test_the_reference_is_current(offline: Kcli, checkout: Path) -> None:
    committed = (checkout / "docs" / "configuration.md").read_text()
    assert offline("configs", "docs").stdout == committed, (
        "run `kcli configs docs >docs/configuration.md` and commit what it writes"
    )


def test_the_reference_of_clients_is_current(offline: Kcli, checkout: Path) -> None:
    committed = (checkout / "docs" / "client-configuration.md").read_text()
    assert offline("configs", "docs", "--clients").stdout == committed, (
        "run `kcli configs docs --clients >docs/client-configuration.md` and commit what it writes"
    )


def test_the_reference_of_one_configuration_of_clients(offline: Kcli) -> None:
    result = offline("configs", "docs", "--clients", "acks", "client.id", "-o", "json")
    assert result.code == 0
    assert [(row["scope"], row["name"]) for row in json.loads(result.stdout)] == [
        ("producer", "acks"),
        ("producer", "client.id"),
        ("consumer", "client.id"),
        ("admin", "client.id"),
    ]


def test_the_reference_of_one_configuration(offline: Kcli) -> None:
    result = offline("configs", "docs", "log.retention.ms", "-o", "json")
    assert result.code == 0
    (entry,) = json.loads(result.stdout)
    assert entry["documentation"].startswith("The default of retention.ms")
    assert {name: entry[name] for name in ("scope", "type", "unit", "default", "mode", "used")} == {
        "scope": "broker",
        "type": "long",
        "unit": "ms",
        "default": None,
        "mode": "cluster-wide",
        "used": True,
    }
    assert offline("configs", "docs", "no.such").code == 1


@pytest.mark.needs("java", "mvn")
def test_apache_kafkas_own_tool_and_ours_print_the_same(kcli: Kcli, broker: BrokerProcess, checkout: Path) -> None:
    kcli("topics", "create", "cfg-tool")

    def kafka_configs(*arguments: str) -> str:
        command = [checkout / "bin" / "kafka-run", "3.9", "kafka.admin.ConfigCommand"]
        done = subprocess.run(
            [*command, "--bootstrap-server", broker.bootstrap_server, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout

    changes = ("--alter", "--topic", "cfg-tool", "--add-config", "segment.bytes=4096,cleanup.policy=[compact,delete]")
    assert kafka_configs(*changes) == kcli("configs", *changes).stdout
    for place in (("--topic", "cfg-tool"), ("--topic", "cfg-tool", "--all"), ("--broker", "1", "--all")):
        theirs = kafka_configs("--describe", *place)
        # Kafka's tool adds a sentence about the message format, and lists in the order of a hash table.
        lines = sorted(line for line in theirs.splitlines() if re.match(r"  |\w+ configs for ", line))
        assert sorted(kcli("configs", "--describe", *place).stdout.splitlines()) == lines
