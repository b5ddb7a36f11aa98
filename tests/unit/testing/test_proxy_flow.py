"""One direction of a proxied connection: every byte arrives once and in order, and faults strike where they should."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore.testing.fault_proxy.flow import QUEUE_BYTES, Flow, FramePlan, FrameTooLarge


class Rules:
    """Gives the plans it was made with, one a frame; upper case is what a collected frame becomes."""

    def __init__(self, *plans: FramePlan) -> None:
        self.plans = list(plans)
        self.heads: list[bytes] = []

    def on_frame(self, head: bytes, size: int) -> FramePlan:
        self.heads.append(head)
        return self.plans.pop(0) if self.plans else FramePlan()

    def on_collected(self, frame: bytes) -> bytes:
        return frame.upper() + b"!"


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def sent(flow: Flow, now: float = 0.0, most: int = 1 << 30) -> bytes:
    data = b""
    while (piece := flow.due(now)) is not None:
        taken = bytes(piece[:most])
        flow.sent(len(taken))
        data += taken
    return data


@given(
    bodies=st.lists(st.binary(max_size=40), max_size=8),
    collected=st.lists(st.booleans(), max_size=8),
    cuts=st.lists(st.integers(1, 30), max_size=60),
    most=st.integers(1, 50),
)
def test_however_it_comes_it_goes_on_whole(
    bodies: list[bytes], collected: list[bool], cuts: list[int], most: int
) -> None:
    rules = Rules(*(FramePlan(collect=collect) for collect in collected))
    flow = Flow(rules, looked_at=4)
    data, out = framed(*bodies), b""
    for size in [*cuts, len(data)]:
        flow.receive(data[:size], 0.0)
        data = data[size:]
        out += sent(flow, most=most)
    flags = collected[: len(bodies)] + [False] * (len(bodies) - len(collected))
    expected = [body.upper() + b"!" if collect else body for body, collect in zip(bodies, flags, strict=True)]
    assert out == framed(*expected)
    assert rules.heads == [body[:4] for body in bodies]
    assert flow.is_empty


@pytest.mark.parametrize("collect", [False, True])
@pytest.mark.parametrize("cut_at", [0, 1, 4, 7, 10])
def test_a_cut_is_exact(cut_at: int, collect: bool) -> None:
    flow = Flow(Rules(FramePlan(), FramePlan(cut_at=cut_at, collect=collect)), looked_at=4)
    flow.receive(framed(b"first", b"SECOND", b"third"), 0.0)
    second = framed(b"SECOND!" if collect else b"SECOND")
    assert sent(flow) == framed(b"first") + second[:cut_at]
    assert flow.is_cut
    flow.receive(b"more", 0.0)
    assert flow.is_empty


def test_a_cut_beyond_the_frame_cuts_nothing() -> None:
    flow = Flow(Rules(FramePlan(cut_at=100)), looked_at=4)
    flow.receive(framed(b"first", b"second"), 0.0)
    assert sent(flow) == framed(b"first", b"second")
    assert not flow.is_cut


def test_from_a_dropped_frame_on_the_line_is_dead() -> None:
    flow = Flow(Rules(FramePlan(), FramePlan(drop=True)), looked_at=4)
    flow.receive(framed(b"first", b"second", b"third"), 0.0)
    assert sent(flow) == framed(b"first")
    assert (flow.is_dead, flow.is_cut) == (True, False)


def test_what_is_held_back_holds_back_what_follows() -> None:
    flow = Flow(Rules(FramePlan(delay_s=2.0), FramePlan(), FramePlan(delay_s=5.0)), looked_at=4)
    flow.receive(framed(b"first", b"second", b"third"), 10.0)
    assert sent(flow, 11.9) == b""
    assert flow.next_due() == 12.0
    assert sent(flow, 12.0) == framed(b"first", b"second")
    assert sent(flow, 14.9) == b""
    assert sent(flow, 15.0) == framed(b"third")


def test_what_trickles_comes_in_pieces_one_after_another() -> None:
    flow = Flow(Rules(FramePlan(piece_bytes=3, piece_s=1.0), FramePlan()), looked_at=4)
    whole = framed(b"first", b"second")
    flow.receive(whole[:8], 10.0)
    flow.receive(whole[8:], 10.0)
    assert bytes(flow.due(10.0) or b"") == whole[:3]
    assert sent(flow, 11.0) == whole[:6]
    # A piece ends where it was received, too; what follows the frame waits for its last piece.
    assert sent(flow, 12.0) == whole[6:8]
    assert sent(flow, 13.0) == whole[8:9]
    assert sent(flow, 14.0) == whole[9:]


def test_a_cut_may_be_a_reset() -> None:
    flow = Flow(Rules(FramePlan(cut_at=5, reset=True)), looked_at=4)
    flow.receive(framed(b"first"), 0.0)
    assert sent(flow) == framed(b"first")[:5]
    assert flow.is_reset


def test_bounds() -> None:
    flow = Flow(Rules(FramePlan()), looked_at=4)
    flow.receive(framed(bytes(QUEUE_BYTES)), 0.0)
    assert flow.is_full
    sent(flow)
    assert not flow.is_full
    with pytest.raises(FrameTooLarge, match="max_frame_bytes"):
        Flow(Rules(FramePlan(collect=True)), looked_at=4, max_frame_bytes=9).receive(framed(b"0123456789"), 0.0)


def test_a_negative_length_is_passed_on() -> None:
    flow = Flow(Rules(), looked_at=4)
    flow.receive(struct.pack(">i", -5) + framed(b"next"), 0.0)
    assert sent(flow) == struct.pack(">i", -5) + framed(b"next")
