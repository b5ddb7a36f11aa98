"""`kcli groups`: what it prints, and its exit codes. Groups are made by commits, and by a real consumer."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli, missing_topic

TIMEOUT_S = 60
DAY_MS = 86_400_000
NO_MEMBERS = "\nConsumer group '{}' has no active members.\n"


@pytest.fixture
def topic(broker: BrokerProcess, kcli: Kcli, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own with two partitions: 5 records a day old in the first, 3 new ones in the second."""
    name = f"t-{request.node.name.replace('_', '-')[:80]}"
    kcli("topics", "create", name, "--partitions", "2")
    producer = Producer({"bootstrap.servers": broker.bootstrap_server})
    yesterday_ms = int(time.time() * 1000) - DAY_MS
    for number in range(5):
        producer.produce(name, value=b"old", partition=0, timestamp=yesterday_ms + number * 600_000)
    for _ in range(3):
        producer.produce(name, value=b"new", partition=1)
    assert producer.flush(TIMEOUT_S) == 0
    return name


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return f"g-{request.node.name.replace('_', '-')[:80]}"


def commit(broker: BrokerProcess, group: str, topic: str, offsets: dict[int, int]) -> None:
    """As a client does that is in no group."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
    places = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
    [future] = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)]).values()
    future.result(TIMEOUT_S)


@pytest.fixture
def member(broker: BrokerProcess, group: str, topic: str) -> Iterator[Consumer]:
    """The only member of the group, which has its partitions and has committed one offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_server,
            "group.id": group,
            "group.instance.id": "instance-1",
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    consumer.commit(offsets=[TopicPartition(topic, 1, 1)], asynchronous=False)
    yield consumer
    consumer.close()


def rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines() if line]


# Listing


def test_groups_are_listed(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 1})
    listed = kcli("groups", "list")
    assert (listed.code, listed.stderr) == (0, "")
    assert group in listed.stdout.splitlines()
    assert kcli("groups", "--list") == listed
    [found] = [row for row in json.loads(kcli("groups", "list", "-o", "json").stdout) if row["group"] == group]
    assert found == {"group": group, "protocol_type": "", "state": "Empty", "type": "Classic"}
    assert list(found) == ["group", "protocol_type", "state", "type"]


@pytest.mark.usefixtures("member")
def test_states_and_types_are_shown_and_chosen(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, f"{group}-empty", topic, {0: 1})
    shown = rows(kcli("groups", "--list", "--state", "--type").stdout)
    assert shown[0] == ["GROUP", "TYPE", "STATE"]
    assert [group, "Classic", "Stable"] in shown
    assert [f"{group}-empty", "Classic", "Empty"] in shown
    stable = rows(kcli("groups", "list", "--state", "STABLE, preparingrebalance").stdout)
    assert [group, "Stable"] in stable
    assert [f"{group}-empty", "Empty"] not in stable
    of_consumers = kcli("groups", "list", "--type", "consumer", "-o", "jsonl").stdout.splitlines()
    assert not {group, f"{group}-empty"} & {json.loads(line)["group"] for line in of_consumers}
    refused = kcli("groups", "list", "--state", "sleepy")
    assert (refused.code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("kcli groups list: --state 'sleepy': unknown value. Valid values: Stable, ")


# Describing


def test_a_group_without_members_has_its_lag(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 2, 1: 3})
    described = kcli("groups", "describe", group)
    assert (described.code, described.stderr) == (0, NO_MEMBERS.format(group))
    heading, first, second = rows(described.stdout)
    assert heading == [
        *("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"),
        "LAG-SECONDS",
    ]
    assert first[:9] == [group, topic, "0", "2", "5", "3", "-", "-", "-"]
    # The third record is 20 minutes younger than a day.
    assert DAY_MS / 1000 - 1200 <= float(first[9]) < DAY_MS / 1000 - 600
    assert second == [group, topic, "1", "3", "3", "0", "-", "-", "-", "0.0"]
    assert kcli("groups", "--describe", "--group", group, "--offsets").code == 0


def test_offsets_as_json(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 5})
    [row] = json.loads(kcli("groups", "describe", group, "-o", "json").stdout)
    assert row == {
        "group": group,
        "topic": topic,
        "partition": 0,
        "current_offset": 5,
        "leader_epoch": None,
        "metadata": "",
        "log_end_offset": 5,
        "lag": 0,
        "lag_seconds": 0.0,
        "consumer_id": None,
        "instance_id": None,
        "host": None,
        "client_id": None,
    }


def test_what_retention_took_counts_from_the_start(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 1})
    deletion = {"partitions": [{"topic": topic, "partition": 0, "offset": 4}]}
    assert kcli("records", "delete", "--offset-json-file", "-", "-y", stdin=json.dumps(deletion)).code == 0
    [row] = json.loads(kcli("groups", "describe", group, "-o", "json").stdout)
    assert (row["current_offset"], row["log_end_offset"], row["lag"]) == (1, 5, 4)
    # The only record that is left is 40 minutes younger than a day.
    assert DAY_MS / 1000 - 2400 <= row["lag_seconds"] < DAY_MS / 1000 - 1800


def test_members(kcli: Kcli, group: str, topic: str, member: Consumer) -> None:
    described = kcli("groups", "describe", "--group", group, "--members", "--verbose")
    assert (described.code, described.stderr) == (0, "")
    heading, row = rows(described.stdout)
    assert heading == [
        *("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"),
        *("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"),
    ]
    assert row == [
        *(group, member.memberid(), "instance-1", "/127.0.0.1", "reader", "2"),
        *("-", f"{topic}:0,1", "-", "-"),
    ]
    [told] = json.loads(kcli("groups", "describe", group, "--members", "-o", "json").stdout)
    assert told["current_assignment"] == {topic: [0, 1]}


@pytest.mark.usefixtures("member")
def test_offsets_of_a_group_at_work(kcli: Kcli, group: str, topic: str) -> None:
    first, second = json.loads(kcli("groups", "describe", group, "-o", "json").stdout)
    assert (first["partition"], first["current_offset"], first["lag"], first["lag_seconds"]) == (0, None, None, None)
    assert (second["partition"], second["current_offset"], second["lag"]) == (1, 1, 2)
    assert 0 <= second["lag_seconds"] < 3600
    assert first["client_id"] == second["client_id"] == "reader"


@pytest.mark.usefixtures("member")
def test_state(broker: BrokerProcess, kcli: Kcli, group: str) -> None:
    heading, row = rows(kcli("groups", "describe", group, "--state").stdout)
    assert heading == ["GROUP", "COORDINATOR", "(ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    assert row == [group, broker.bootstrap_server, "(1)", "range", "Stable", "1"]
    [told] = json.loads(kcli("groups", "describe", group, "--state", "-o", "json").stdout)
    assert told == {
        "group": group,
        "coordinator": f"{broker.bootstrap_server}  (1)",
        "coordinator_id": 1,
        "type": "Classic",
        "protocol_type": "consumer",
        "assignment_strategy": "range",
        "state": "Stable",
        "group_epoch": None,
        "target_assignment_epoch": None,
        "members": 1,
    }


def test_a_group_of_the_consumer_protocol(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    """KIP-848: assignments and epochs are the broker's own."""
    settings = {"bootstrap.servers": broker.bootstrap_server, "group.id": group, "client.id": "reader"}
    consumer = Consumer({**settings, "group.protocol": "consumer", "enable.auto.commit": False})
    consumer.subscribe([topic])
    try:
        while not consumer.assignment():
            consumer.poll(0.1)
        consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
        [listed] = [
            row
            for row in json.loads(kcli("groups", "list", "--type", "consumer", "-o", "json").stdout)
            if row["group"] == group
        ]
        assert listed == {"group": group, "protocol_type": "consumer", "state": "Stable", "type": "Consumer"}
        [member] = json.loads(kcli("groups", "describe", group, "--members", "-o", "json").stdout)
        assert (member["consumer_id"], member["partitions"], member["upgraded"]) == (consumer.memberid(), 2, True)
        assert member["current_assignment"] == member["target_assignment"] == {topic: [0, 1]}
        assert member["current_epoch"] == member["target_epoch"] >= 1
        [state] = json.loads(kcli("groups", "describe", group, "--state", "-o", "json").stdout)
        assert (state["type"], state["state"], state["members"]) == ("Consumer", "Stable", 1)
        assert state["assignment_strategy"] == "uniform"
        assert state["group_epoch"] == state["target_assignment_epoch"] == member["target_epoch"]
        first, _ = json.loads(kcli("groups", "describe", group, "-o", "json").stdout)
        assert (first["current_offset"], first["lag"], first["consumer_id"]) == (4, 1, consumer.memberid())
        assert "(GROUP_SUBSCRIBED_TO_TOPIC)" in kcli("groups", "delete-offsets", group, "--topic", topic, "-y").stderr
        assert "(NON_EMPTY_GROUP)" in kcli("groups", "delete", group, "-y").stderr
    finally:
        consumer.close()
    assert reset(kcli, group, "--all-topics", "--to-earliest") == {0: 0}
    assert kcli("groups", "delete", group, "-y").code == 0


def test_several_groups_and_one_that_is_missing(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, f"{group}-1", topic, {0: 1})
    commit(broker, f"{group}-2", topic, {1: 1})
    described = kcli("groups", "describe", "--group", f"{group}-2", "--group", f"{group}-1", "--group", "absent")
    assert described.code == 1
    assert described.stderr.endswith(
        "kcli groups describe: group absent: Group absent not found. (GROUP_ID_NOT_FOUND)\n"
    )
    assert [row[0] for row in rows(described.stdout)] == ["GROUP", f"{group}-1", "GROUP", f"{group}-2"]
    everything = json.loads(kcli("groups", "describe", "--all-groups", "-o", "json").stdout)
    assert {f"{group}-1", f"{group}-2"} <= {row["group"] for row in everything}


def test_time_is_limited(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 2})
    for action in (("list",), ("describe", group), ("delete-offsets", group, "--topic", topic, "-y")):
        assert kcli("groups", *action, "--timeout", "20000").code == 0
    assert kcli("groups", "list", "--timeout", "0").code == 2


def test_which_groups_has_to_be_said(kcli: Kcli) -> None:
    for arguments in (("describe",), ("delete", "x", "--all-groups"), ("reset-offsets", "--to-latest")):
        refused = kcli("groups", *arguments)
        assert (refused.code, refused.stdout) == (2, "")
        assert refused.stderr == (f"kcli groups {arguments[0]}: pass either group names or --all-groups\n")
    assert kcli("groups", "describe", "x", "--members", "--state").code == 2


# Deleting


def test_a_group_is_deleted(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 1})
    asked = kcli("groups", "delete", group)
    assert asked == (
        2,
        "",
        f"delete group {group} with all its offsets\nkcli groups delete: not a terminal: pass --yes to confirm\n",
    )
    deleted = kcli("groups", "delete", group, "absent", "--yes")
    assert (deleted.code, deleted.stdout) == (1, f"Deleted group {group}.\n")
    assert deleted.stderr == "kcli groups delete: group absent: The group does not exist. (GROUP_ID_NOT_FOUND)\n"
    assert group not in kcli("groups", "list").stdout.splitlines()


@pytest.mark.usefixtures("member")
def test_a_group_at_work_keeps_what_it_has(kcli: Kcli, group: str, topic: str) -> None:
    deleted = kcli("groups", "delete", group, "--yes")
    assert deleted == (1, "", f"kcli groups delete: group {group}: The group still has members. (NON_EMPTY_GROUP)\n")
    refused = kcli("groups", "delete-offsets", group, "--topic", f"{topic}:1", "--yes")
    assert (refused.code, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"kcli groups delete-offsets: group {group}, partition {topic}-1: ")
    assert refused.stderr.endswith("(GROUP_SUBSCRIBED_TO_TOPIC)\n")
    reset = kcli("groups", "reset-offsets", group, "--topic", topic, "--to-latest", "--execute")
    assert (reset.code, reset.stdout) == (1, "")
    assert reset.stderr.startswith(
        f"kcli groups reset-offsets: group {group}: cannot reset offsets while the group has members (state Stable)"
    )


def test_offsets_are_deleted(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 1, 1: 1})
    deleted = kcli("groups", "--delete-offsets", "--group", group, "--topic", f"{topic}:0", "--topic", "absent", "-y")
    assert (deleted.code, deleted.stdout) == (1, f"Deleted the offset of partition {topic}-0 in group {group}.\n")
    assert deleted.stderr == (f"kcli groups delete-offsets: {missing_topic('absent')}\n")
    [left] = json.loads(kcli("groups", "describe", group, "-o", "json").stdout)
    assert left["partition"] == 1
    assert kcli("groups", "delete-offsets", "absent", "--topic", topic, "-y").code == 1
    assert kcli("groups", "delete-offsets", group, "-y").code == 2


# Resetting


def reset(kcli: Kcli, group: str, *arguments: str) -> dict[int, int]:
    """The offsets after a reset that was executed, as a description tells them."""
    done = kcli("groups", "reset-offsets", group, *arguments, "--execute", "-o", "json")
    assert done.code == 0, done.stderr
    planned = json.loads(done.stdout)
    assert all(row["executed"] for row in planned)
    described = json.loads(kcli("groups", "describe", group, "-o", "json").stdout)
    offsets = {row["partition"]: row["current_offset"] for row in described}
    assert {row["partition"]: row["new_offset"] for row in planned}.items() <= offsets.items()
    return offsets


def test_every_way_to_reset(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 2})
    assert reset(kcli, group, "--topic", topic, "--to-current") == {0: 2, 1: 3}
    assert reset(kcli, group, "--all-topics", "--to-earliest") == {0: 0, 1: 0}
    assert reset(kcli, group, "--topic", f"{topic}:1", "--to-latest") == {0: 0, 1: 3}
    assert reset(kcli, group, "--topic", f"{topic}:0,1", "--shift-by", "-2") == {0: 0, 1: 1}
    assert reset(kcli, group, "--topic", topic, "--to-offset", "4") == {0: 4, 1: 3}
    assert reset(kcli, group, "--topic", topic, "--by-duration", "PT12H") == {0: 5, 1: 0}
    assert reset(kcli, group, "--topic", topic, "--by-duration", "P2D") == {0: 0, 1: 0}
    assert reset(kcli, group, "--topic", topic, "--to-datetime", "2999-01-01T00:00:00.000") == {0: 5, 1: 3}
    # Between the second and the third record, however long the commands above have taken.
    moment = time.strftime("%Y-%m-%dT%H:%M:%S.000", time.gmtime(time.time() - DAY_MS / 1000 + 660))
    assert reset(kcli, group, "--topic", f"{topic}:0", "--to-datetime", moment) == {0: 2, 1: 3}


def test_nothing_changes_before_it_is_said(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 2})
    shown = kcli("groups", "--reset-offsets", "--group", group, "--topic", f"{topic}:0", "--to-earliest")
    assert (shown.code, rows(shown.stdout)) == (
        0,
        [["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"], [group, topic, "0", "0"]],
    )
    assert shown.stderr == "kcli groups reset-offsets: dry run: nothing was changed. Pass --execute to apply\n"
    dry = kcli("groups", "reset-offsets", group, "--all-topics", "--to-latest", "--dry-run", "-o", "jsonl")
    assert dry.stderr == ""
    assert json.loads(dry.stdout) == {
        "group": group,
        "topic": topic,
        "partition": 0,
        "current_offset": 2,
        "new_offset": 5,
        "executed": False,
    }
    [row] = json.loads(kcli("groups", "describe", group, "-o", "json").stdout)
    assert row["current_offset"] == 2


def test_a_plan_is_exported_and_read(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 2, 1: 1})
    exported = kcli("groups", "reset-offsets", group, "--all-topics", "--to-current", "--export")
    assert exported == (0, f"{topic},0,2\n{topic},1,1\n", "")
    reset(kcli, group, "--all-topics", "--to-latest")
    done = kcli("groups", "reset-offsets", group, "--from-file", "-", "--execute", stdin=exported.stdout)
    assert done.code == 0
    again = kcli("groups", "reset-offsets", group, "--all-topics", "--to-current", "--export")
    assert again == exported
    both = kcli(
        "groups", "reset-offsets", group, f"{group}-other", "--topic", f"{topic}:1", "--to-earliest", "--export"
    )
    assert both.stdout == f"{group},{topic},1,0\n{group}-other,{topic},1,0\n"
    named = kcli("groups", "reset-offsets", f"{group}-other", "--from-file", "-", "--execute", stdin=both.stdout)
    assert named.code == 0
    assert f"{group}-other" in kcli("groups", "list").stdout


@pytest.mark.parametrize("text", ["t,0\n", "t,x,1\n", "t,0,-1\n", "t,0,1\nt,0,2\n", "g,t,0,1,2\n", '"t\n'])
def test_a_file_that_is_no_plan(kcli: Kcli, text: str) -> None:
    refused = kcli("groups", "reset-offsets", "g", "--from-file", "-", "--execute", stdin=text)
    assert (refused.code, refused.stdout) == (2, "")
    assert refused.stderr.startswith("kcli groups reset-offsets: -, line ")


def test_offsets_beyond_the_log_are_brought_into_it(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 2})
    done = kcli("groups", "reset-offsets", group, "--topic", topic, "--to-offset", "4", "--execute", "-o", "jsonl")
    assert done.stderr == (
        f"kcli groups reset-offsets: partition {topic}-1: offset 4 is beyond the log end offset; using 3\n"
        f"kcli groups reset-offsets: applied: moved 2 partitions of {group}\n"
    )
    back = kcli("groups", "reset-offsets", group, "--all-topics", "--shift-by", "-100", "--execute")
    assert back.stderr == (
        f"kcli groups reset-offsets: partition {topic}-0: offset -96 is before the log start offset; using 0\n"
        f"kcli groups reset-offsets: partition {topic}-1: offset -97 is before the log start offset; using 0\n"
        f"kcli groups reset-offsets: applied: moved 2 partitions of {group}\n"
    )


def test_what_cannot_be_reset_is_named(kcli: Kcli, group: str, topic: str) -> None:
    refused = kcli("groups", "reset-offsets", group, "--topic", f"{topic}:0,7", "--to-latest", "--execute")
    assert refused.code == 1
    assert rows(refused.stdout)[1:] == [[group, topic, "0", "5"]]
    assert refused.stderr == (
        f"kcli groups reset-offsets: applied: moved 1 partition of {group}\n"
        f"kcli groups reset-offsets: group {group}: partition 7 of topic {topic}: the topic has the partitions 0 to 1\n"
    )
    shifted = kcli("groups", "reset-offsets", group, "--topic", f"{topic}:1", "--shift-by", "1", "--execute")
    assert (shifted.code, shifted.stdout) == (1, "")
    assert shifted.stderr == (
        f"kcli groups reset-offsets: group {group}: partition {topic}-1: cannot shift: the group has "
        "no committed offset. "
        "Use --to-offset instead\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--to-latest",),
        ("--all-topics",),
        ("--all-topics", "--topic", "t", "--to-latest"),
        ("--all-topics", "--to-latest", "--to-earliest"),
        ("--all-topics", "--to-latest", "--dry-run", "--execute"),
        ("--all-topics", "--to-datetime", "yesterday"),
        ("--all-topics", "--to-datetime", "2026-01-01"),
        ("--all-topics", "--by-duration", "1h"),
        ("--all-topics", "--by-duration", "P"),
        ("--all-topics", "--by-duration", "P1DT"),
        ("--all-topics", "--to-latest", "--export", "-o", "json"),
        ("--topic", "t:x", "--to-latest"),
        ("--topic", ":0", "--to-latest"),
        ("--all-topics", "--from-file", "/no/such/file"),
    ],
)
def test_a_reset_that_makes_no_sense(kcli: Kcli, arguments: tuple[str, ...]) -> None:
    refused = kcli("groups", "reset-offsets", "g", *arguments)
    assert (refused.code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)


# Watching


def test_groups_are_watched(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 2, 1: 3})
    watched = kcli("groups", "watch", group, "--iterations", "2", "--interval", "0.1", "--verbose", "-o", "jsonl")
    assert (watched.code, watched.stderr) == (0, "")
    for view in map(json.loads, watched.stdout.splitlines()):
        assert view["failures"] == []
        [row] = view["groups"]
        late, current = row.pop("partitions_behind")
        assert DAY_MS / 1000 - 1200 <= row.pop("lag_seconds") == late["lag_seconds"]
        assert row == {
            "group": group,
            "state": "Empty",
            "type": "Classic",
            "members": 0,
            "partitions": 2,
            "lag": 3,
            "read_per_s": 0.0,
            "written_per_s": 0.0,
            "caught_up_in_s": None,
        }
        assert (late["partition"], late["lag"], current["partition"], current["lag"]) == (0, 3, 1, 0)
    plain = kcli("groups", "watch", group, "absent", "--iterations", "1", "--interval", "0.1")
    assert (plain.code, plain.stderr) == (0, "")
    assert rows(plain.stdout)[0][:3] == ["GROUP", "STATE", "MEMBERS"]
    assert rows(plain.stdout)[1][:5] == [group, "Empty", "0", "2", "3"]
    assert "group absent: " in plain.stdout


def test_watching_outlives_a_broker(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        broker.create_topic("watched")
        commit(broker, "watched", "watched", {0: 0})
        command = [sys.executable, "-m", "kcli", "groups", "watch", "watched", "--interval", "0.1", "-o", "jsonl"]
        environment = {**os.environ, "KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as watching:
            try:
                assert watching.stdout is not None
                views = map(json.loads, watching.stdout)
                seen = next(views)
                assert seen["failures"] == []
                broker.kill()
                lost = next(view for view in views if view["failures"])
                assert lost["groups"] == seen["groups"]
                assert lost["failures"][0].startswith("no broker answered: ")
                broker.start()
                again = next(view for view in views if not view["failures"])
                assert again["groups"] == seen["groups"]
                watching.send_signal(signal.SIGINT)
                assert watching.wait(TIMEOUT_S) == 130
            finally:
                watching.kill()


def test_watching_on_a_terminal(broker: BrokerProcess, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 2})
    master, terminal = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "kcli", "groups", "watch", "--iterations", "2", "--interval", "0.1", "--rows", "200"],
        stdout=terminal,
        stderr=terminal,
        env={
            **os.environ,
            "KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server,
            "TERM": "xterm-256color",
            "COLUMNS": "160",
            "LINES": "200",
        },
    )
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:
        pass  # the terminal ends with its last writer
    os.close(master)
    assert done.wait(TIMEOUT_S) == 0
    assert b"\x1b[?1049h" in shown  # a screen of its own, which is left again
    assert b"\x1b[?1049l" in shown
    assert group.encode() in shown


def test_a_reset_is_asked_about_on_a_terminal(broker: BrokerProcess, kcli: Kcli, group: str, topic: str) -> None:
    commit(broker, group, topic, {0: 2})
    for answer, expected in ((b"n\n", 2), (b"y\n", 5)):
        master, terminal = pty.openpty()
        command = [sys.executable, "-m", "kcli", "groups", "reset-offsets", group, "--all-topics", "--to-latest"]
        process = subprocess.Popen(
            command,
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server},
        )
        os.write(master, answer)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        os.close(master)
        os.close(terminal)
        assert f"move group {group}, partition {topic}-0 from 2 to 5" in errors.decode()
        assert process.returncode == (0 if expected == 5 else 1)
        [row] = json.loads(kcli("groups", "describe", group, "-o", "json").stdout)
        assert row["current_offset"] == expected


def test_a_regular_expression_is_judged(offline: Kcli) -> None:
    assert offline("groups", "--validate-regex", "orders-(a|b)+") == (
        0,
        "The regular expression `orders-(a|b)+` is valid.\n",
        "",
    )
    refused = offline("groups", "validate-regex", "orders-(", "-o", "json")
    assert (refused.code, json.loads(refused.stdout)[0]["valid"]) == (1, False)
    assert refused.stderr.startswith("kcli groups validate-regex: the regular expression `orders-(` is invalid: ")
    # A look-ahead, which Java has and RE2 has not.
    assert offline("groups", "validate-regex", "a(?=b)").code == 1


def test_nobody_answers(offline: Kcli) -> None:
    result = offline("groups", "list", "--bootstrap-server", "127.0.0.1:1")
    assert (result.code, result.stdout) == (3, "")
