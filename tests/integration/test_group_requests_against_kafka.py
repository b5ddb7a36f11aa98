"""Groups, request by request: the same scripts here and on Apache Kafka 3.9 and 4, equal answers field by field.

The two have different coordinators: `kafka.coordinator.group.GroupCoordinator`, and `GroupMetadataManager` in Java.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.integration.group_script import REBALANCE_IN_PROGRESS, TOPIC, Stage, wait_for_groups
from tests.raw_client import RawClient

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

# Three members fill a group, and sessions may be short.
SETTINGS = {
    "group.max.size": "3",
    "group.min.session.timeout.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}
# Long enough for what a script does before, on a machine that is busy.
SOON_MS = 3_000
VERSIONS = range(10)

Script = Callable[[Stage], None]


@pytest.fixture(scope="module", params=[pytest.param("3.9", marks=pytest.mark.full_size), "4"])
def ports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """Apache Kafka's port and ours, both ready for groups and with one topic."""
    directory: Path = tmp_path_factory.mktemp("groups")
    with (
        ApacheKafka(request.param, directory / "kafka", SETTINGS) as kafka,
        BrokerProcess(directory / "ours", SETTINGS) as ours,
    ):
        for port in (kafka.port, ours.port):
            with RawClient(port) as client:
                client.create_topic(TOPIC)
            wait_for_groups(port, ["any"])
        yield [kafka.port, ours.port]


SCRIPTS: list[Script] = []


def script(function: Script) -> Script:
    SCRIPTS.append(function)
    return function


# --- joining ----------------------------------------------------------------------------------------------------------


@script
def every_version_of_a_first_member(stage: Stage) -> None:
    for version in VERSIONS:
        answer = stage.join("a", version=version)
        if answer.error_code:
            stage.join("a", "a", version=version)
        stage.sync("a", None, {"a": "all"}, version=min(version, 5))
        stage.heartbeat("a", version=min(version, 4))
        stage.leave("a", ("a", None), version=min(version, 5))


@script
def joins_that_are_refused(stage: Stage) -> None:
    for version in VERSIONS:
        for options in (
            {"member": "nobody"},
            {"session_ms": 99},
            {"session_ms": 1_800_001},
            {"protocols": ""},
            {"kind": ""},
            {"member": "nobody", "protocols": ""},
        ):
            stage.join("a", version=version, **options)
    stage.group_id = ""
    for version in VERSIONS:
        stage.join("a", version=version)
        stage.join("a", "nobody", version=version)


@script
def joins_that_a_group_with_members_refuses(stage: Stage) -> None:
    stage.stable("a", protocols="range,sticky")
    for version in VERSIONS:
        for options in ({"kind": "connect"}, {"protocols": "other"}, {"protocols": ""}, {"member": "nobody"}):
            stage.join("b", version=version, **options)
    # It is asked about the protocols that it had as well.
    stage.join("a", "a", protocols="other")
    stage.join("a", "a", kind="connect")
    stage.heartbeat("a")


@script
def a_member_id_that_was_handed_out(stage: Stage) -> None:
    stage.join("a", version=4)
    stage.join("b", "a", version=9, instance="i")
    stage.heartbeat("a", generation=0)
    stage.sync("a", generation=0)
    stage.commit("a", "a", generation=0)
    stage.commit("a", "a", generation=-1)
    stage.leave("b", ("a", "i"))
    stage.join("a", "a", version=4)
    stage.join("a", version=4)
    stage.leave("b", ("a", None), version=1)
    stage.join("a", "a", version=4)


@script
def a_group_of_as_many_as_it_may_have(stage: Stage) -> None:
    stage.stable("a", "b", "c", rebalance_ms=5_000)
    for version in VERSIONS:
        stage.join("d", version=version)
    stage.join("d", version=9, instance="i")
    stage.heartbeat("a")
    # While it rebalances there is room for those who come first.
    stage.send_join("a", "a", rebalance_ms=5_000)
    stage.heartbeat_until("b", REBALANCE_IN_PROGRESS)
    stage.send_join("b", "b", rebalance_ms=5_000)
    stage.send_join("d", rebalance_ms=5_000)
    stage.heartbeat_until("c", REBALANCE_IN_PROGRESS)


# --- rebalancing ------------------------------------------------------------------------------------------------------


@script
def a_second_member(stage: Stage) -> None:
    stage.stable("a")
    first = stage.generation
    stage.send_join("b", version=9, session_ms=20_000)
    stage.heartbeat("a", generation=first + 1)
    stage.hear("b")
    stage.send_join("b", "b", version=9)
    stage.heartbeat_until("a", REBALANCE_IN_PROGRESS)
    stage.sync("a")
    stage.sync("a", generation=first + 1)
    stage.commit("a", "a")
    stage.commit("a", "a", generation=first + 1)
    stage.send_join("a", "a")
    stage.hear("a")
    stage.hear("b")
    # Nobody has an assignment yet.
    stage.commit("a", "a")
    stage.commit("a", "a", generation=first)
    stage.heartbeat("a")
    stage.heartbeat("b")
    stage.heartbeat("a", generation=first)
    stage.heartbeat("a", generation=-1)
    stage.join("a", "a", version=7)
    stage.join("b", "b", version=9)
    stage.sync("b", generation=first)
    stage.send_sync("b", version=5)
    stage.sync("a", None, {"b": "b's", "nobody": "nobody's"}, version=5)
    stage.hear("b")
    stage.sync("b", version=5)
    stage.commit("b", "b")


@script
def joining_again(stage: Stage) -> None:
    stage.stable("a", "b")
    stage.join("b", "b", version=9)
    stage.heartbeat("a")
    stage.send_join("a", "a")
    stage.heartbeat_until("b", REBALANCE_IN_PROGRESS)
    stage.join("b", "b")
    stage.hear("a")
    stage.send_sync("b")
    stage.sync("a", None, {"a": "1", "b": "2"})
    stage.hear("b")
    stage.send_join("b", "b", protocols="range,sticky")
    stage.heartbeat_until("a", REBALANCE_IN_PROGRESS)
    stage.send_join("a", "a", protocols="range,roundrobin")
    stage.hear("a")
    stage.hear("b")
    # Before there is an assignment, too.
    stage.send_sync("b")
    stage.send_join("a", "a", protocols="range")
    stage.hear("b")
    stage.heartbeat_until("b", REBALANCE_IN_PROGRESS)
    stage.join("b", "b", protocols="range")
    stage.hear("a")


@script
def protocols_of_an_assignment(stage: Stage) -> None:
    stage.join("a", protocols="sticky,range")
    for kind, name in (
        (None, None),
        ("consumer", None),
        (None, "sticky"),
        ("connect", "sticky"),
        ("consumer", "range"),
    ):
        stage.sync("a", None, {"a": "all"}, version=5, kind=kind, name=name)
    stage.sync("a", None, {"a": "all"}, version=5, kind="consumer", name="sticky")
    stage.sync("a", None, {"a": "more"}, version=5, kind="consumer", name="range")
    stage.sync("a", None, {"a": "more"}, version=5, kind="consumer", name="sticky")


@script
def the_last_one_goes(stage: Stage) -> None:
    stage.stable("a")
    stage.leave("a", ("a", None))
    stage.heartbeat("a")
    stage.sync("a")
    stage.join("a", "a")
    stage.commit("a", "a")
    stage.commit("a", "a", generation=stage.generation + 1)
    stage.commit("a", "", generation=-1)
    stage.commit("a", "nobody", generation=-1)
    stage.join("b", kind="connect")


@script
def a_waiting_member_is_sent_away(stage: Stage) -> None:
    stage.stable("a", "b")
    stage.send_join("b", "b", protocols="range,other")
    stage.heartbeat_until("a", REBALANCE_IN_PROGRESS)
    stage.leave("a", ("b", None))
    stage.hear("b")
    stage.join("a", "a")


@script
def who_does_not_join_in_time(stage: Stage) -> None:
    stage.stable("a", "b", rebalance_ms=SOON_MS)
    stage.send_join("b", "b", protocols="range,other", rebalance_ms=SOON_MS)
    stage.hear("b")
    stage.heartbeat("a")
    stage.heartbeat("b")


@script
def who_does_not_sync_in_time(stage: Stage) -> None:
    stage.stable("a", "b", rebalance_ms=SOON_MS)
    stage.send_join("a", "a", rebalance_ms=SOON_MS)
    stage.heartbeat_until("b", REBALANCE_IN_PROGRESS)
    stage.join("b", "b", rebalance_ms=SOON_MS)
    stage.hear("a")
    stage.sync("a", None, {"a": "1", "b": "2"})
    stage.heartbeat_until("a", REBALANCE_IN_PROGRESS)
    stage.heartbeat("b")
    stage.sync("b")
    stage.join("a", "a")


@script
def who_is_not_heard_of(stage: Stage) -> None:
    stage.stable("a", "b", session_ms=SOON_MS, rebalance_ms=20_000)
    stage.send_join("a", "a", session_ms=20_000, rebalance_ms=20_000)
    stage.hear("a")
    stage.heartbeat("b")


# --- leaving ----------------------------------------------------------------------------------------------------------


@script
def strangers(stage: Stage) -> None:
    for group_id in ("", "nobodys", stage.group_id):
        stage.group_id = group_id
        for version in range(6):
            stage.sync("a", "nobody", version=version, generation=1)
            stage.leave("a", ("nobody", None), version=version)
        for version in range(5):
            stage.heartbeat("a", "nobody", version=version, generation=1)
        stage.leave("a", ("", None), ("nobody", "nothing"), ("", "nothing"))
        stage.leave("a", version=5)
        stage.heartbeat("a", "", generation=-1)
        stage.heartbeat("a", "", generation=0, instance="i")
    stage.stable("a")
    stage.heartbeat("b", "")
    stage.heartbeat("b", "nobody", generation=9)
    stage.commit("b", "", generation=-1)
    stage.commit("b", "", generation=-1, instance="i")
    stage.commit("b", "", generation=3)
    stage.commit("b", "a", generation=-1)
    stage.commit("b", "nobody", generation=-1)


@script
def leaving_together(stage: Stage) -> None:
    stage.stable("a", "b")
    stage.join("c", version=4)
    stage.leave("d", ("b", None), ("c", None), ("nobody", None), ("b", None), ("a", "i"), version=5)
    stage.heartbeat("b")
    stage.heartbeat_until("a", REBALANCE_IN_PROGRESS)
    stage.join("a", "a")


# --- static members ---------------------------------------------------------------------------------------------------


@script
def a_static_member(stage: Stage) -> None:
    stage.join("a", version=9, instance="i")
    stage.sync("a", None, {"a": "all"}, version=5, instance="i")
    for instance in ("i", None, "j"):
        stage.heartbeat("a", instance=instance)
        stage.sync("a", instance=instance)
        stage.commit("a", "a", instance=instance)
    stage.heartbeat("a", "nobody", instance="i")
    stage.sync("a", "nobody", instance="i")
    stage.commit("a", "nobody", instance="i")
    stage.commit("a", "", instance="i", generation=-1)
    stage.join("a", "nobody", version=9, instance="i")
    stage.join("a", "nobody", version=9, instance="j")
    stage.leave("a", ("nobody", "i"), ("", "j"), ("nobody", "j"))
    stage.heartbeat("a", instance="i")
    stage.leave("a", ("", "i"))
    stage.heartbeat("a", instance="i")


def static_pair(stage: Stage, version: int) -> None:
    """Leader i and follower j, stable."""
    stage.join("i", version=version, instance="i")
    stage.send_join("j", version=version, instance="j")
    stage.heartbeat_until("i", REBALANCE_IN_PROGRESS, instance="i")
    stage.join("i", "i", version=version, instance="i")
    stage.hear("j")
    stage.send_sync("j", instance="j")
    stage.sync("i", None, {"i": "1", "j": "2"}, instance="i")
    stage.hear("j")


def comes_back(stage: Stage, actor: str, version: int, protocols: str) -> None:
    old = stage.ids[actor]
    stage.join(f"{actor}'", version=version, instance=actor, protocols=protocols)
    stage.heartbeat("x", old, instance=actor)
    stage.heartbeat("x", old)
    stage.sync("x", old, instance=actor)
    stage.commit("x", old, instance=actor)
    stage.leave("x", (old, actor))
    stage.join("x", old, version=version, instance=actor, protocols=protocols)
    stage.sync(f"{actor}'", instance=actor)
    stage.commit(actor, f"{actor}'", instance=actor)
    stage.ids[actor] = stage.ids[f"{actor}'"]


@script
def a_static_follower_comes_back(stage: Stage) -> None:
    static_pair(stage, 9)
    for version in (5, 8, 9):
        comes_back(stage, "j", version, "range")
    # What it would rather have changes nothing as long as the choice of all is the same.
    comes_back(stage, "j", 9, "range,sticky")
    stage.heartbeat("i", instance="i")


@script
def a_static_leader_comes_back(stage: Stage) -> None:
    static_pair(stage, 9)
    for version in (5, 8, 9):
        comes_back(stage, "i", version, "range")
    stage.heartbeat("j", instance="j")
    # The leader may rebalance.
    stage.send_join("i", "i", version=9, instance="i")
    stage.heartbeat_until("j", REBALANCE_IN_PROGRESS, instance="j")
    stage.join("j", "j", version=9, instance="j")
    stage.hear("i")


@script
def a_static_member_comes_back_and_wants_another_protocol(stage: Stage) -> None:
    stage.join("i", version=9, instance="i", protocols="range,sticky")
    stage.sync("i", None, {"i": "1"}, instance="i")
    stage.join("i'", version=9, instance="i", protocols="sticky,range")
    stage.sync("i'", None, {"i'": "1"}, instance="i", version=5, name="sticky")
    stage.join("i''", version=9, instance="i", protocols="other")
    stage.heartbeat("i'", instance="i")


@script
def a_static_member_comes_back_while_its_join_waits(stage: Stage) -> None:
    static_pair(stage, 9)
    stage.send_join("j", "j", version=9, instance="j", protocols="range,sticky")
    stage.heartbeat_until("i", REBALANCE_IN_PROGRESS, instance="i")
    stage.send_join("j'", version=9, instance="j")
    stage.hear("j")
    stage.join("i", "i", version=9, instance="i")
    stage.hear("j'")


@script
def a_static_member_comes_back_while_its_sync_waits(stage: Stage) -> None:
    static_pair(stage, 9)
    stage.send_join("i", "i", version=9, instance="i")
    stage.heartbeat_until("j", REBALANCE_IN_PROGRESS, instance="j")
    stage.join("j", "j", version=9, instance="j")
    stage.hear("i")
    stage.send_sync("j", instance="j")
    stage.send_join("j'", version=9, instance="j")
    stage.hear("j")
    stage.heartbeat_until("i", REBALANCE_IN_PROGRESS, instance="i")
    stage.join("i", "i", version=9, instance="i")
    stage.hear("j'")


@script
def a_static_member_that_is_away_keeps_its_place(stage: Stage) -> None:
    static_pair(stage, 9)
    stage.send_join("i", "i", version=9, instance="i", rebalance_ms=SOON_MS)
    stage.heartbeat_until("j", REBALANCE_IN_PROGRESS, instance="j")
    stage.leave("x", ("", "i"))
    stage.hear("i")
    # A pair again, of which only the follower joins in time: it leads.
    stage.join("j", "j", version=9, instance="j", rebalance_ms=SOON_MS)
    stage.send_join("k", version=9, instance="k", rebalance_ms=SOON_MS)
    stage.hear("k")
    stage.sync("k", None, {"j": "1", "k": "2"}, instance="k")
    stage.heartbeat("j", instance="j")
    stage.sync("j", instance="j")


@pytest.mark.parametrize("play", SCRIPTS, ids=lambda play: play.__name__)
def test_answers_are_equal(ports: list[int], play: Script) -> None:
    transcripts = []
    for port in ports:
        stage = Stage(port, play.__name__)
        try:
            play(stage)
        finally:
            stage.close()
        transcripts.append(stage.transcript)
    theirs, ours = transcripts
    assert ours == theirs
    assert theirs
