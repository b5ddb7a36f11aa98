"""Elections and other replicas on demand, in a cluster of three brokers."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.controller.new_topic import NewTopic
from kcore.metadata.image import NO_LEADER, PartitionState
from tests.unit.controller.test_controller import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Partition 0 of `t` on the brokers 1, 2 and 3."""
    cluster = Cluster()
    cluster.start(1, 2, 3)
    cluster.controller.create_topics([NewTopic("t", assignments=[(0, [1, 2, 3])])])
    return cluster


class TestElections:
    def test_the_preferred_replica_takes_over_again(self, cluster: Cluster) -> None:
        cluster.controller.fail_partitions(1, [("t", 0)])
        state = cluster.state("t")
        assert (state.leader, state.isr) == (2, (2, 3))
        with pytest.raises(errors.PreferredLeaderNotAvailableError):
            cluster.controller.elect_leader("t", 0)
        cluster.controller.alter_partition(
            2, "t", 0, leader_epoch=state.leader_epoch, partition_epoch=state.partition_epoch, isr=[2, 3, 1]
        )
        cluster.controller.elect_leader("t", 0)
        after = cluster.state("t")
        assert (after.leader, after.leader_epoch, set(after.isr)) == (1, state.leader_epoch + 1, {1, 2, 3})

    @pytest.mark.parametrize("unclean", [False, True])
    def test_a_partition_that_is_led_needs_none(self, cluster: Cluster, unclean: bool) -> None:
        before = cluster.state("t")
        with pytest.raises(errors.ElectionNotNeededError):
            cluster.controller.elect_leader("t", 0, unclean=unclean)
        assert cluster.state("t") == before

    def test_an_unclean_leader_is_one_out_of_sync_that_is_alive(self, cluster: Cluster) -> None:
        cluster.controller.alter_partition(1, "t", 0, leader_epoch=0, partition_epoch=0, isr=[1])
        cluster.controller.fail_partitions(1, [("t", 0)])
        assert (cluster.state("t").leader, cluster.state("t").isr) == (NO_LEADER, (1,))
        with pytest.raises(errors.PreferredLeaderNotAvailableError):
            cluster.controller.elect_leader("t", 0)
        cluster.controller.elect_leader("t", 0, unclean=True)
        assert (cluster.state("t").leader, cluster.state("t").isr) == (2, (2,))

    def test_nobody_is_left_to_lead(self) -> None:
        cluster = Cluster()
        cluster.start(1)
        cluster.controller.create_topics([NewTopic("alone", assignments=[(0, [1])])])
        cluster.controller.fail_partitions(1, [("alone", 0)])
        with pytest.raises(errors.EligibleLeadersNotAvailableError):
            cluster.controller.elect_leader("alone", 0, unclean=True)

    @pytest.mark.parametrize(("topic", "words"), [("t", "No such partition as t-5"), ("u", "No such topic as u")])
    def test_what_does_not_exist(self, cluster: Cluster, topic: str, words: str) -> None:
        with pytest.raises(errors.UnknownTopicOrPartitionError, match=words):
            cluster.controller.elect_leader(topic, 5)


class TestReassignment:
    def test_another_order_changes_nothing_but_the_preference(self, cluster: Cluster) -> None:
        cluster.controller.reassign_partition("t", 0, [3, 1, 2])
        assert cluster.state("t") == PartitionState("t", 0, (3, 1, 2), (1, 2, 3), 1, 0, 1)

    def test_a_replica_left_out_leads_no_more(self, cluster: Cluster) -> None:
        cluster.controller.reassign_partition("t", 0, [3, 2])
        assert cluster.state("t") == PartitionState("t", 0, (3, 2), (2, 3), 3, 1, 1)

    def test_the_same_replicas_are_no_change(self, cluster: Cluster) -> None:
        cluster.controller.reassign_partition("t", 0, [1, 2, 3])
        assert cluster.state("t").partition_epoch == 0

    @pytest.mark.parametrize(
        ("target", "words"),
        [
            ([], "includes an empty replica list"),
            ([1, 1], "includes the broker 1 more than once"),
            ([1, 9], "includes broker 9, but no such broker is registered"),
        ],
    )
    def test_replicas_that_cannot_be(self, cluster: Cluster, target: list[int], words: str) -> None:
        with pytest.raises(errors.InvalidReplicaAssignmentError, match=words):
            cluster.controller.reassign_partition("t", 0, target)

    def test_what_needs_records_to_be_copied_is_not_begun(self, cluster: Cluster) -> None:
        cluster.controller.create_topics([NewTopic("one", assignments=[(0, [1])])])
        with pytest.raises(errors.UnsupportedVersionError, match=r"no replica can be added to \[1\]"):
            cluster.controller.reassign_partition("one", 0, [1, 2])
        cluster.controller.alter_partition(1, "t", 0, leader_epoch=0, partition_epoch=0, isr=[1])
        with pytest.raises(errors.UnsupportedVersionError, match="one in-sync replica"):
            cluster.controller.reassign_partition("t", 0, [2, 3])

    def test_there_is_nothing_to_end(self, cluster: Cluster) -> None:
        with pytest.raises(errors.NoReassignmentInProgressError):
            cluster.controller.reassign_partition("t", 0, None)
