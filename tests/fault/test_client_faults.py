"""Our clients behind a network that drops, delays and cuts frames: client_faults and client_cuts in small."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kcore.client.consumer import Consumer
from kcore.client.consumer.record_columns import live_columns
from kcore.client.network.client_request import live_frames
from kcore.client.producer import Producer
from tests.campaigns import client_faults
from tests.fault.bad_network.cuts import Cuts
from tests.fault.bad_network.site import Site

SEEDS = range(16)
EVERY_NTH_CUT = 97


@pytest.fixture(scope="module", autouse=True)
def rounds() -> Iterator[None]:
    yield
    client_faults.end()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bad_network_loses_and_repeats_nothing(seed: int) -> None:
    client_faults.run(seed)


def test_a_cut_after_any_byte_makes_no_difference() -> None:
    with Cuts() as cuts:
        assert {cut.api for cut in cuts.all} >= {"ApiVersions", "Metadata", "InitProducerId", "Produce", "Fetch"}
        for cut in cuts.all[::EVERY_NTH_CUT]:
            cuts.run(cut)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def test_poll_goes_on_while_nobody_says_what_is_committed(site: Site) -> None:
    """As Java's: only the records are late. It raised ClientTimeout once default.api.timeout.ms was over."""
    site.create("uncommitted", 1)
    with Producer(bootstrap_servers=site.servers) as producer:
        producer.send("uncommitted", b"value")
    settings = {
        "bootstrap.servers": site.servers,
        "group.id": "uncommitted",
        "auto.offset.reset": "earliest",
        "retry.backoff.ms": 1,
        "request.timeout.ms": 50,
        "default.api.timeout.ms": 100,
    }
    with site.proxy.faults.drop(api="OffsetFetch") as dropped, Consumer(settings) as consumer:
        consumer.subscribe(["uncommitted"])
        while dropped.hits < 6:
            assert not consumer.poll(20)
        dropped.remove()
        while not (records := consumer.poll(1_000)):
            pass
    assert [record.value for record in records] == [b"value"]


def test_poll_goes_on_when_the_member_turns_out_to_be_unknown(site: Site) -> None:
    """A member that was taken for dead meanwhile joins again; the application hears nothing of it but a rebalance."""
    site.create("unknown", 1)
    with Producer(bootstrap_servers=site.servers) as producer:
        producer.send("unknown", b"value")
    settings = {"bootstrap.servers": site.servers, "group.id": "unknown", "auto.offset.reset": "earliest"}
    with (
        site.broker.faults.add(api="OffsetFetch", error="UNKNOWN_MEMBER_ID", times=2) as refused,
        Consumer(settings, group_protocol="consumer", retry_backoff_ms=1) as consumer,
    ):
        consumer.subscribe(["unknown"])
        while not (records := consumer.poll(1_000)):
            pass
        assert refused.hits == 2
    assert [record.value for record in records] == [b"value"]


def test_a_closed_consumer_holds_nothing_that_it_fetched(site: Site) -> None:
    """Of what was fetched ahead, and of what one of its partitions that are paused has."""
    site.create("ahead", 2)
    with Producer(bootstrap_servers=site.servers) as producer:
        for number in range(200):
            producer.send("ahead", b"x" * 1_000, partition=number % 2)
    frames, columns_before = live_frames(), live_columns()
    consumer = Consumer(bootstrap_servers=site.servers, auto_offset_reset="earliest", max_poll_records=1)
    consumer.assign([("ahead", 0), ("ahead", 1)])
    while not (records := consumer.poll(1_000)):
        pass
    consumer.pause([(records[0].topic, records[0].partition)])
    columns = consumer.poll_columns(1_000, max_records=1)
    assert live_frames() > frames
    consumer.close()
    assert live_frames() == frames
    assert live_columns() == columns_before + 1
    del columns
    assert live_columns() == columns_before
