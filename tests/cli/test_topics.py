"""`kcli topics`: the whole of what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Kcli, missing_topic


def test_a_topic_from_creation_to_deletion(kcli: Kcli) -> None:
    created = kcli("topics", "create", "life", "--partitions", "2", "--config", "retention.ms=60000")
    assert created == (0, "Created topic life.\n", "")
    described = kcli("topics", "describe", "life")
    assert (described.code, described.stderr) == (0, "")
    assert described.stable == (
        "Topic: life\tTopicId: <uuid>\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: retention.ms=60000\n"
        "\tTopic: life\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
        "\tTopic: life\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    )
    assert "life\n" in kcli("topics", "list").stdout
    assert kcli("topics", "delete", "life", "--yes") == (0, "Deleted topic life.\n", "")
    assert "life\n" not in kcli("topics", "list").stdout


def test_the_options_of_kafka_topics(kcli: Kcli) -> None:
    assert kcli("topics", "--create", "--topic", "as-in-kafka", "--replication-factor", "1", "--partitions", "1") == (
        0,
        "Created topic as-in-kafka.\n",
        "",
    )
    assert kcli("topics", "--describe", "--topic", "as-in-kafka").code == 0
    assert kcli("topics", "--list", "--topic", "as-in-*").stdout == "as-in-kafka\n"
    assert kcli("topics", "--delete", "--topic", "as-in-kafka", "--yes").code == 0


def test_a_topic_that_exists(kcli: Kcli) -> None:
    kcli("topics", "create", "twice")
    again = kcli("topics", "create", "twice")
    assert (again.code, again.stdout) == (1, "")
    assert again.stderr.startswith("kcli topics create: topic twice: ")
    assert again.stderr.endswith("(TOPIC_ALREADY_EXISTS); choose another name, or add --if-not-exists\n")
    assert kcli("topics", "create", "twice", "--if-not-exists") == (0, "Topic twice already exists.\n", "")


def test_json_has_stable_keys(kcli: Kcli) -> None:
    assert json.loads(kcli("topics", "create", "keys", "-o", "json").stdout) == [{"topic": "keys", "created": True}]
    (described,) = json.loads(kcli("topics", "describe", "keys", "-o", "json").stdout)
    assert list(described) == [
        "topic",
        "topic_id",
        "internal",
        "partition_count",
        "replication_factor",
        "configs",
        "partitions",
    ]
    assert list(described["partitions"][0]) == [
        "partition",
        "leader",
        "leader_epoch",
        "replicas",
        "isr",
        "offline_replicas",
        "eligible_leader_replicas",
        "last_known_elr",
    ]
    (listed,) = kcli("topics", "list", "--topic", "keys", "-o", "jsonl").stdout.splitlines()
    assert json.loads(listed) == {
        "topic": "keys",
        "topic_id": described["topic_id"],
        "internal": False,
        "partitions": 1,
    }
    assert kcli("topics", "list", "--topic", "no-such-*", "-o", "json").stdout == "[]\n"


def test_what_is_missing_is_named_and_the_rest_is_done(kcli: Kcli) -> None:
    kcli("topics", "create", "there")
    described = kcli("topics", "describe", "there,not-there")
    assert described.code == 1
    assert described.stdout.startswith("Topic: there\t")
    assert described.stderr == (f"kcli topics describe: {missing_topic('not-there')}\n")
    assert kcli("topics", "describe", "not-there", "--if-exists") == (0, "", "")
    deleted = kcli("topics", "delete", "there,not-there", "--yes")
    assert deleted == (
        1,
        "Deleted topic there.\n",
        f"kcli topics delete: {missing_topic('not-there')}\n",
    )


def test_deletion_shows_its_plan_and_does_nothing_unasked(kcli: Kcli) -> None:
    kcli("topics", "create", "kept", "--partitions", "3")
    result = kcli("topics", "delete", "kept")
    assert result == (
        2,
        "",
        "delete topic kept: 3 partitions with all their records\n"
        "kcli topics delete: not a terminal: pass --yes to confirm\n",
    )
    assert "kept\n" in kcli("topics", "list").stdout


def test_usage(kcli: Kcli) -> None:
    assert kcli("topics", "create") == (2, "", "kcli topics create: no topic given: pass TOPIC or --topic TOPIC\n")
    assert kcli("topics", "create", "x", "--config", "novalue").stderr == (
        "kcli topics create: --config: expected NAME=VALUE, got 'novalue'\n"
    )
    refused = kcli("topics", "create", "bad/name")
    assert refused.code == 1
    assert "INVALID_TOPIC_EXCEPTION" in refused.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("x", "--partitions", "2147483648"),
        ("x", "--partitions", "0"),
        ("x", "--replication-factor", "32768"),
        (b"bytes-\xff",),
        ("two\nlines",),
    ],
)
def test_what_no_request_can_carry_is_usage(kcli: Kcli, arguments: tuple[str | bytes, ...]) -> None:
    refused = kcli("topics", "create", *map(os.fsdecode, arguments))
    assert (refused.code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("kcli")
    assert refused.stderr.count("\n") == 1
    assert "Request version" not in refused.stderr


@pytest.mark.parametrize("pattern", ["nothing-*", "nothing-.+"])
def test_a_list_without_a_match(kcli: Kcli, pattern: str) -> None:
    assert kcli("topics", "list", "--topic", pattern) == (
        0,
        "",
        f"kcli topics list: no topic matches {pattern}. List the topics with: kcli topics list\n",
    )


@pytest.mark.parametrize("arguments", [("describe",), ("delete", "--yes"), ("alter", "--partitions", "3")])
def test_a_topic_that_is_given_twice(offline: Kcli, arguments: tuple[str, ...]) -> None:
    refused = offline("topics", *arguments, "one", "--topic", "other")
    assert refused == (
        2,
        "",
        f"kcli topics {arguments[0]}: topic given twice: one as an argument and --topic other. Remove one\n",
    )


def test_a_properties_file_that_cannot_be_read_is_named(kcli: Kcli, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("ssl.keystore=C:\\users\\me\n")
    refused = kcli("topics", "list", "--command-config", str(file))
    assert (refused.code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert refused.stderr.startswith(f"kcli topics list: {file}: ")


@pytest.mark.parametrize(
    ("properties", "code", "complaint"),
    [
        (
            "request.timeout.ms=soon",
            2,
            "Invalid value soon for configuration request.timeout.ms: Not a number of type INT",
        ),
        ("security.protocol=SSL", 2, "security.protocol=SSL: TLS and SASL are not supported in this version. "),
        ("default.api.timeout.ms=5", 2, "The specified value of default.api.timeout.ms must be no smaller than "),
        (
            "request.timout.ms=5",
            0,
            "request.timout.ms is ignored: it is not a configuration of the admin client; did you mean "
            "request.timeout.ms?",
        ),
        ("request.timeout.ms=20000\nclient.id=me\nreconnect.backoff.ms=7\n", 0, ""),
    ],
)
def test_the_properties_of_the_admin_client(
    kcli: Kcli, tmp_path: Path, properties: str, code: int, complaint: str
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(properties)
    listed = kcli("topics", "list", "--command-config", str(file))
    assert listed.code == code
    place = f"{file}:1: " if complaint.endswith("?") else ""
    assert listed.stderr.startswith(f"kcli topics list: {place}{complaint}" if complaint else "")
    assert listed.stderr.count("\n") == (1 if complaint else 0)


def test_a_topic_grows(kcli: Kcli) -> None:
    kcli("topics", "create", "growing", "--partitions", "2")
    altered = kcli("topics", "alter", "growing", "--partitions", "5")
    assert altered == (0, "Topic growing has 5 partitions, 3 of them new.\n", "")
    again = kcli("topics", "--alter", "--topic", "growing", "--partitions", "5")
    assert (again.code, again.stdout) == (1, "")
    assert again.stderr == "kcli topics alter: topic growing: Topic already has 5 partition(s). (INVALID_PARTITIONS)\n"
    assigned = kcli(
        "topics", "alter", "growing", "--partitions", "6", "--replica-assignment", "1,1,1,1,1,1", "-o", "json"
    )
    assert json.loads(assigned.stdout) == [{"topic": "growing", "partitions": 6, "added": 1}]
    stranger = kcli("topics", "alter", "growing", "--partitions", "7", "--replica-assignment", "1,1,1,1,1,1,2")
    assert stranger.stderr.endswith("no such broker is registered. (INVALID_REPLICA_ASSIGNMENT)\n")
    assert kcli("topics", "alter", "growing", "--partitions", "7", "--replica-assignment", "1").code == 2
    assert kcli("topics", "alter", "absent", "--partitions", "7", "--if-exists") == (0, "", "")
    assert kcli("topics", "alter", "absent", "--partitions", "7").code == 1


def test_patterns_choose_topics_and_names_are_only_names(kcli: Kcli) -> None:
    for name in ("pat.one", "patxone", "pat.two"):
        kcli("topics", "create", name)
    for pattern, expected in (
        ("pat.one", ["pat.one"]),
        ("pat.*", ["pat.one", "pat.two", "patxone"]),
        ("pat?one", ["pat.one", "patxone"]),
        ("pat[.]one,patx(one|two)", ["pat.one", "patxone"]),
    ):
        assert kcli("topics", "list", "--topic", pattern).stdout.split() == expected, pattern
    described = json.loads(kcli("topics", "describe", "--topic", "pat\\..+", "-o", "json").stdout)
    assert [topic["topic"] for topic in described] == ["pat.one", "pat.two"]
    deleted = kcli("topics", "delete", "--topic", "pat[.].*,nothing-.+", "--yes")
    assert (deleted.code, deleted.stdout) == (1, "Deleted topic pat.one.\nDeleted topic pat.two.\n")
    assert deleted.stderr == "kcli topics delete: no topic matches nothing-.+. List the topics with: kcli topics list\n"
    assert kcli("topics", "list", "--topic", "pat*").stdout == "patxone\n"
    assert kcli("topics", "list", "--topic", "pat(").code == 2


def test_a_description_may_come_in_pages(kcli: Kcli) -> None:
    for name, partitions in (("paged-a", 7), ("paged-b", 1), ("paged-c", 3)):
        kcli("topics", "create", name, "--partitions", str(partitions))
    at_once = kcli("topics", "describe", "--topic", "paged-.*")
    assert at_once.stdout.count("\tPartition: ") == 11
    for limit in ("1", "3", "7", "11"):
        assert (
            kcli("topics", "describe", "--topic", "paged-.*", "--partition-size-limit-per-response", limit) == at_once
        )


def test_a_topic_is_described_by_its_id(kcli: Kcli) -> None:
    kcli("topics", "create", "identified", "--config", "min.insync.replicas=2")
    (listed,) = json.loads(kcli("topics", "list", "--topic", "identified", "-o", "json").stdout)
    described = kcli("topics", "describe", "--topic-id", listed["topic_id"])
    assert described.stdout.startswith("Topic: identified\t")
    assert kcli("topics", "describe", "--topic-id", "A" * 22).code == 1
    assert kcli("topics", "describe", "--topic-id", "nonsense").code == 2
    assert kcli("topics", "describe", "identified", "--under-min-isr-partitions").stdout.startswith(
        "Topic: identified\t"
    )
    assert kcli("topics", "describe", "identified", "--at-min-isr-partitions") == (0, "", "")
