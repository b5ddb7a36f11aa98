"""What a client asks for and when, and what it makes of the answers: in virtual time, without a broker."""

from __future__ import annotations

import random

import pytest

from kcore.client.metadata.cluster import Cluster, Node, PartitionInfo, TopicDescription
from kcore.client.metadata.metadata import (
    NO_TOPIC_ID,
    REBOOTSTRAP_REQUIRED,
    Metadata,
    MetadataChange,
    MetadataQuery,
    MetadataSettings,
)

NODES = {number: Node(number, "localhost", 9000 + number) for number in range(3)}
UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, TOPIC_AUTHORIZATION_FAILED = 3, 5, 29
FOREVER = float("inf")


def topic_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def described(name: str, *leaders: tuple[int, int], id: bytes = topic_id(1), error_code: int = 0) -> TopicDescription:
    """A topic with (leader, epoch) of each partition; without a leader it says so."""
    partitions = [
        PartitionInfo(index, leader, epoch, [leader], [leader], [], LEADER_NOT_AVAILABLE if leader < 0 else 0)
        for index, (leader, epoch) in enumerate(leaders)
    ]
    return TopicDescription(name, id, False, error_code, partitions)


def answer(*topics: TopicDescription, nodes: dict[int, Node] = NODES) -> Cluster:
    return Cluster("cluster", 0, nodes, {topic.name: topic for topic in topics})


def query_at(metadata: Metadata, now_ms: float) -> MetadataQuery:
    query = metadata.next_query(now_ms)
    assert query is not None
    return query


def started(settings: MetadataSettings | None = None, *topics: TopicDescription) -> Metadata:
    """Knows the topics since 0."""
    metadata = Metadata(settings or MetadataSettings())
    metadata.retain(topic.name for topic in topics)
    metadata.on_answer(query_at(metadata, 0), answer(*topics), 0)
    return metadata


def leader(metadata: Metadata, topic: str, partition: int = 0) -> tuple[int, int]:
    info = metadata.cluster.topics[topic].partitions[partition]
    return info.leader, info.leader_epoch


def test_the_first_query_is_due_at_once_and_there_is_one_at_a_time() -> None:
    metadata = Metadata(MetadataSettings())
    assert metadata.next_query_in(0) == 0
    query = query_at(metadata, 0)
    assert query.topics == ()
    assert metadata.next_query(10_000) is None
    assert metadata.next_query_in(10_000) == FOREVER


def test_what_is_known_is_asked_for_again_when_it_is_old() -> None:
    metadata = started(None, described("a", (0, 1)), described("b", (1, 1)))
    assert metadata.next_query_in(1_000) == 299_000
    assert metadata.next_query(299_999) is None
    assert query_at(metadata, 300_000).topics == ("a", "b")


def test_a_new_topic_is_asked_for_at_once_and_alone() -> None:
    metadata = started(None, described("a", (0, 1)))
    assert metadata.want("a", 1)
    assert metadata.next_query(1) is None
    assert not metadata.want("b", 1)
    query = query_at(metadata, 1)
    assert (query.topics, query.is_partial) == (("b",), True)
    change = metadata.on_answer(query, answer(described("b", (1, 1))), 2)
    assert change == MetadataChange(frozenset({"b"}))
    assert leader(metadata, "a") == (0, 1)
    assert leader(metadata, "b") == (1, 1)
    # Age counts from when everything was asked for.
    assert metadata.next_query_in(2) == 299_998


def test_what_proved_wrong_is_asked_for_after_a_pause() -> None:
    metadata = started(None, described("a", (0, 1)))
    metadata.request_update()
    assert metadata.next_query_in(30) == 70
    query = query_at(metadata, 100)
    assert (query.topics, query.is_partial) == (("a",), False)


def test_pauses_double_while_answers_say_nothing_new() -> None:
    metadata = started(None, described("a", (0, 1)))
    now, pauses = 100.0, []
    for _ in range(7):
        metadata.request_update()
        metadata.on_answer(query_at(metadata, now), answer(described("a", (0, 1))), now)
        metadata.request_update()
        pauses.append(metadata.next_query_in(now))
        now += pauses[-1]
    assert pauses == [100, 200, 400, 800, 1_000, 1_000, 1_000]
    metadata.on_answer(query_at(metadata, now), answer(described("a", (1, 2))), now)
    metadata.request_update()
    assert metadata.next_query_in(now) == 100


def test_pauses_double_while_nobody_answers_and_what_was_asked_for_is_asked_again() -> None:
    metadata = Metadata(MetadataSettings())
    metadata.want("a", 0)
    now, pauses = 0.0, []
    for _ in range(6):
        query = query_at(metadata, now)
        assert query.topics == ("a",)
        metadata.on_failure(query, now)
        pauses.append(metadata.next_query_in(now))
        now += pauses[-1]
    assert pauses == [100, 200, 400, 800, 1_000, 1_000]


def test_a_partial_query_that_fails_is_made_again() -> None:
    metadata = started(None, described("a", (0, 1)))
    metadata.want("b", 500)
    metadata.on_failure(query_at(metadata, 500), 510)
    assert metadata.next_query_in(510) == 100
    query = query_at(metadata, 610)
    assert (query.topics, query.is_partial) == (("b",), True)


def test_pauses_differ_by_chance_within_a_fifth() -> None:
    for chance, pause_ms in ((0.0, 80.0), (0.5, 100.0), (1.0, 120.0)):
        metadata = Metadata(MetadataSettings(), lambda chance=chance: chance)  # type: ignore[misc]
        metadata.on_failure(query_at(metadata, 0), 0)
        assert metadata.next_query_in(0) == pytest.approx(pause_ms)


def test_a_leader_never_goes_back_to_an_earlier_epoch() -> None:
    metadata = started(None, described("a", (0, 5), (1, 5)))
    metadata.request_update()
    change = metadata.on_answer(query_at(metadata, 100), answer(described("a", (2, 4), (2, 6))), 100)
    assert (leader(metadata, "a", 0), leader(metadata, "a", 1)) == ((0, 5), (2, 6))
    assert change.topics == {"a"}
    # The same epoch may come with other replicas, or without a leader.
    metadata.request_update()
    metadata.on_answer(query_at(metadata, 200), answer(described("a", (-1, 5), (2, 6))), 200)
    assert leader(metadata, "a", 0) == (-1, 5)


def test_brokers_without_epochs_are_believed() -> None:
    metadata = started(None, described("a", (0, 5)))
    metadata.request_update()
    metadata.on_answer(query_at(metadata, 100), answer(described("a", (2, -1))), 100)
    assert leader(metadata, "a") == (2, -1)


def test_a_topic_made_anew_is_told_by_its_id_and_begins_with_new_epochs() -> None:
    metadata = started(None, described("a", (0, 5), (1, 5)))
    metadata.request_update()
    change = metadata.on_answer(query_at(metadata, 100), answer(described("a", (2, 0), id=topic_id(2))), 100)
    assert change.recreated == {"a"}
    assert leader(metadata, "a") == (2, 0)
    assert metadata.cluster.topics["a"].topic_id == topic_id(2)


def test_brokers_without_ids_make_nothing_anew() -> None:
    metadata = started(None, described("a", (0, 5)))
    metadata.request_update()
    change = metadata.on_answer(query_at(metadata, 100), answer(described("a", (2, 0), id=NO_TOPIC_ID)), 100)
    assert change.recreated == frozenset()
    assert leader(metadata, "a") == (0, 5)
    assert metadata.cluster.topics["a"].topic_id == topic_id(1)


def test_a_topic_that_is_gone_keeps_its_partitions_without_leaders_until_it_is_back() -> None:
    metadata = started(None, described("a", (0, 5)))
    metadata.request_update()
    missing = described("a", error_code=UNKNOWN_TOPIC_OR_PARTITION, id=NO_TOPIC_ID)
    change = metadata.on_answer(query_at(metadata, 100), answer(missing), 100)
    assert change.gone == {"a"}
    assert leader(metadata, "a") == (-1, 5)
    assert metadata.errors["a"].retriable
    query = query_at(metadata, 200)
    change = metadata.on_answer(query, answer(described("a", (1, 0), id=topic_id(2))), 200)
    assert (set(change.recreated), set(change.gone)) == ({"a"}, set())
    assert "a" not in metadata.errors
    assert leader(metadata, "a") == (1, 0)


def test_an_unknown_topic_is_asked_for_again_and_again() -> None:
    metadata = Metadata(MetadataSettings())
    metadata.want("a", 0)
    missing = described("a", error_code=UNKNOWN_TOPIC_OR_PARTITION, id=NO_TOPIC_ID)
    now = 0.0
    for _ in range(4):
        query = query_at(metadata, now)
        assert query.topics == ("a",)
        metadata.on_answer(query, answer(missing), now)
        assert not metadata.want("a", now)
        now += metadata.next_query_in(now)
    assert now == 100 + 200 + 400 + 800


def test_a_forbidden_topic_is_not_asked_for_again_unless_it_is_used() -> None:
    metadata = Metadata(MetadataSettings())
    metadata.want("a", 0)
    forbidden = described("a", error_code=TOPIC_AUTHORIZATION_FAILED, id=NO_TOPIC_ID)
    metadata.on_answer(query_at(metadata, 0), answer(forbidden), 0)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(metadata.errors["a"])
    assert metadata.next_query_in(0) == 300_000
    assert not metadata.want("a", 50)
    assert metadata.next_query_in(50) == 50
    metadata.on_answer(query_at(metadata, 100), answer(described("a", (0, 1))), 100)
    assert metadata.want("a", 100)


def test_a_partition_without_a_leader_is_asked_about_again() -> None:
    metadata = started(None, described("a", (-1, 3), (0, 1)))
    assert metadata.next_query_in(0) == 100


def test_idle_topics_are_forgotten() -> None:
    metadata = Metadata(MetadataSettings(max_idle_ms=10_000))
    metadata.want("a", 0)
    metadata.want("b", 0)
    metadata.on_answer(query_at(metadata, 0), answer(described("a", (0, 1)), described("b", (0, 1))), 0)
    metadata.want("b", 5_000)
    assert metadata.expire(9_999) == frozenset()
    assert metadata.expire(10_000) == {"a"}
    assert metadata.cluster.topics.keys() == {"b"}
    metadata.request_update()
    assert query_at(metadata, 11_000).topics == ("b",)
    # Used again, it is asked for like a new one.
    assert not metadata.want("a", 12_000)


def test_only_retained_topics_are_asked_for_and_kept() -> None:
    metadata = started(None, described("a", (0, 1)), described("b", (0, 1)))
    metadata.retain(["b", "c"])
    assert metadata.cluster.topics.keys() == {"b"}
    query = query_at(metadata, 1)
    assert (query.topics, query.is_partial) == (("c",), True)
    metadata.on_answer(query, answer(described("c", (0, 1)), described("a", (0, 1))), 1)
    assert metadata.cluster.topics.keys() == {"b", "c"}


def test_who_wants_all_topics_sees_them_come_and_go() -> None:
    metadata = Metadata(MetadataSettings())
    metadata.want_all(True)
    query = query_at(metadata, 0)
    assert (query.topics, query.allow_auto_topic_creation) == (None, False)
    metadata.on_answer(query, answer(described("a", (0, 1)), described("b", (0, 1))), 0)
    metadata.request_update()
    change = metadata.on_answer(query_at(metadata, 100), answer(described("b", (0, 1)), described("c", (0, 1))), 100)
    assert (set(change.topics), set(change.gone)) == ({"a", "c"}, {"a"})
    assert metadata.cluster.topics.keys() == {"b", "c"}


def test_a_leader_that_an_answer_named_counts_at_once_and_is_made_sure_of() -> None:
    metadata = started(None, described("a", (0, 5)))
    assert metadata.suggest_leader("a", 0, 2, 6)
    assert leader(metadata, "a") == (2, 6)
    assert metadata.next_query_in(0) == 100
    for node_id, epoch in ((1, 6), (1, 5), (77, 9)):
        assert not metadata.suggest_leader("a", 0, node_id, epoch)
    assert not metadata.suggest_leader("nowhere", 0, 1, 9)
    assert leader(metadata, "a") == (2, 6)
    # A broker that does not know of it yet changes nothing.
    metadata.on_answer(query_at(metadata, 100), answer(described("a", (0, 5))), 100)
    assert leader(metadata, "a") == (2, 6)


def test_outdated_answers_change_nothing() -> None:
    metadata = started(None, described("a", (0, 1)))
    metadata.request_update()
    query = query_at(metadata, 100)
    metadata.on_failure(query, 100)
    metadata.on_failure(query, 100)
    assert metadata.on_answer(query, answer(described("a", (1, 2))), 101).topics == frozenset()
    assert leader(metadata, "a") == (0, 1)
    assert metadata.next_query_in(100) == 100


def test_it_begins_again_with_other_brokers() -> None:
    metadata = started(MetadataSettings(rebootstrap_trigger_ms=0), described("a", (0, 5)))
    metadata.rebootstrap(0)
    assert metadata.cluster.nodes == {}
    assert metadata.next_query_in(0) == 0
    # Without brokers there is nothing to give up: the bootstrap servers are asked already.
    assert not metadata.must_rebootstrap(10**9)
    query = query_at(metadata, 0)
    assert query.topics == ("a",)
    change = metadata.on_answer(query, answer(described("a", (1, 0), id=topic_id(9))), 1)
    assert change.recreated == {"a"}
    assert change.has_other_nodes
    assert leader(metadata, "a") == (1, 0)


def test_it_begins_again_when_nobody_has_answered_for_long() -> None:
    metadata = started(MetadataSettings(rebootstrap_trigger_ms=5_000), described("a", (0, 5)))
    metadata.request_update()
    now = 100.0
    while now < 5_100:
        assert not metadata.must_rebootstrap(now)
        metadata.on_failure(query_at(metadata, now), now)
        now += metadata.next_query_in(now)
    assert metadata.must_rebootstrap(now)


def test_it_begins_again_when_a_broker_says_so() -> None:
    metadata = started(None, described("a", (0, 5)))
    metadata.request_update()
    metadata.on_answer(query_at(metadata, 100), answer(), 100, REBOOTSTRAP_REQUIRED)
    assert metadata.cluster.nodes == {}
    assert metadata.next_query_in(100) == 0


def test_it_never_begins_again_where_that_is_not_wanted() -> None:
    settings = MetadataSettings(is_rebootstrapping=False, rebootstrap_trigger_ms=0)
    metadata = started(settings, described("a", (0, 5)))
    metadata.request_update()
    query = query_at(metadata, 100)
    assert not metadata.must_rebootstrap(10**9)
    metadata.on_answer(query, answer(), 100, REBOOTSTRAP_REQUIRED)
    assert metadata.cluster.nodes == NODES


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_epochs_only_grow_and_a_query_always_comes(seed: int) -> None:
    """A cluster whose leaders change, seen through brokers that lag behind, with answers that are lost."""
    chance = random.Random(seed)
    metadata = Metadata(MetadataSettings(max_idle_ms=60_000), chance.random)
    history: dict[str, list[TopicDescription]] = {name: [described(name, (0, 0))] for name in "abc"}
    seen: dict[str, tuple[bytes, int]] = {}
    now = 0.0
    for step in range(400):
        name = chance.choice("abc")
        last = history[name][-1]
        if chance.random() < 0.02:
            history[name] = [described(name, (chance.randrange(3), 0), id=topic_id(step + 2))]
        elif chance.random() < 0.3:
            epoch = last.partitions[0].leader_epoch + 1
            history[name].append(described(name, (chance.randrange(-1, 3), epoch), id=last.topic_id))
        metadata.want(chance.choice("abc"), now)
        if chance.random() < 0.3:
            metadata.request_update()
        wait_ms = metadata.next_query_in(now)
        assert wait_ms <= 300_000
        now += min(wait_ms, chance.choice((0, 50, 1_000)))
        query = metadata.next_query(now)
        if query is None:
            continue
        now += chance.random() * 20
        if chance.random() < 0.2:
            metadata.on_failure(query, now)
            continue
        names = query.topics if query.topics is not None else tuple(history)
        metadata.on_answer(query, answer(*(chance.choice(history[each][-3:]) for each in names)), now)
        for each, known in metadata.cluster.topics.items():
            epoch = known.partitions[0].leader_epoch
            former_id, former_epoch = seen.get(each, (known.topic_id, 0))
            assert former_id != known.topic_id or epoch >= former_epoch
            seen[each] = known.topic_id, epoch
        for each in seen.keys() - metadata.cluster.topics.keys():
            del seen[each]
