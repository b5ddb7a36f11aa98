"""The sender as a machine: what goes out when, in which numbers, and what answers and silence make of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.client.producer.producing import (
    CLOSED,
    DISCONNECTED,
    EVENT_ERROR,
    EVENT_LEADERS,
    EVENT_METADATA,
    EVENT_PRODUCER_ID,
    OK,
    TIMED_OUT,
    UNSUPPORTED_VERSION,
    Producing,
    answer,
    batches_of,
    request_of,
    sequences_of,
    values_of,
)

UNKNOWN_PARTITION, NOT_LEADER, FENCED_LEADER_EPOCH, MESSAGE_TOO_LARGE, OUT_OF_ORDER, DUPLICATE, UNKNOWN_PRODUCER = (
    3,
    6,
    74,
    10,
    45,
    46,
    59,
)
INVALID_RECORD, CLUSTER_AUTHORIZATION, TOPIC_AUTHORIZATION = 87, 31, 29
DELIVERY_TIMEOUT = -100


# Bytes


@pytest.mark.parametrize("version", range(3, 12))
def test_a_request_is_what_a_broker_reads(version: int) -> None:
    producing = Producing(2)
    producing.probe.network.version = version
    producing.append(b"one", key=b"k", timestamp_ms=1_700_000_000_000)
    producing.append(None, timestamp_ms=1_700_000_000_250)
    producing.append(b"three", partition=1, timestamp_ms=5)
    producing.probe.flush()
    sent = producing.one()
    request = request_of(sent)
    assert (sent.version, request.acks, request.timeout_ms, request.transactional_id) == (version, -1, 30_000, None)
    batches = batches_of(sent)
    records = [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in batches[0]]
    assert records == [
        (0, 1_700_000_000_000, b"k", b"one", []),
        (1, 1_700_000_000_250, None, None, []),
    ]
    assert batches[0].max_timestamp == 1_700_000_000_250
    assert [record.value for record in batches[1]] == [b"three"]


def test_version_13_names_topics_by_id() -> None:
    producing = Producing()
    topic_id = bytes(range(16))
    producing.probe.set_id(producing.topic, topic_id)
    producing.probe.network.version = 13
    [record] = producing.append(b"value")
    sent = producing.one()
    assert sent.version == 13
    assert topic_id in sent.frame
    assert b"events" not in sent.frame
    # One topic, one partition 0, no error, offset 41; no throttling; no tagged fields.
    partition = bytes(4) + bytes(2) + (41).to_bytes(8, "big") + b"\xff" * 8 + bytes(8) + b"\x01" + b"\x00" + b"\x00"
    sent.finish(OK, b"\x02" + topic_id + b"\x02" + partition + b"\x00" + bytes(4) + b"\x00")
    assert record.outcome == 41


def test_an_id_that_is_not_known_keeps_to_names() -> None:
    producing = Producing()
    producing.probe.network.version = 13
    producing.append(b"value")
    sent = producing.one()
    assert sent.version == 12
    assert b"events" in sent.frame


@pytest.mark.parametrize("codec", range(5))
def test_every_codec(codec: int) -> None:
    producing = Producing(codec=codec)
    values = [b"the same again" * 20 for _ in range(50)]
    producing.append(*values)
    sent = producing.one()
    assert batches_of(sent)[0].codec == codec
    assert values_of(sent) == values
    assert codec == 0 or len(sent.frame) < 3_000


@pytest.mark.parametrize("size", [0, 1, 4_000, 16_000, 16_384, 70_001])
def test_records_that_are_summed_while_they_come_make_the_same_bytes(size: int) -> None:
    """Some in between are not: a batch may be shared by `send_batch` and `send`. So do they under other numbers."""
    frames = []
    for each_ahead in (0, 1, 3):
        producing = Producing(batch_size=900_000)
        producing.append(b"before")
        answer(producing.one(), 0)
        for number in range(11):
            value = bytes([number]) * (size + number)
            ahead = each_ahead > 0 and number % each_ahead == 0
            producing.append(value, partition=0, timestamp_ms=number, sum_ahead=ahead)
        producing.probe.flush()
        first = producing.one()
        assert [len(value) for value in values_of(first)] == [size + number for number in range(11)]
        answer(first, -1, UNKNOWN_PRODUCER, log_start_offset=0)
        again = producing.one(after_ms=200)
        assert sequences_of(again) != sequences_of(first)
        assert values_of(again) == values_of(first)
        # The engine writes what stands before the client id.
        frames.append((first.frame[12:], again.frame[12:]))
    assert len(set(frames)) == 1


def test_a_batch_that_was_summed_before_it_is_split() -> None:
    producing = Producing(batch_size=900_000)
    values = [bytes([number]) * 30_000 for number in range(6)]
    producing.append(*values, sum_ahead=True)
    producing.probe.flush()
    answer(producing.one(), error_code=MESSAGE_TOO_LARGE)
    parts = []
    while not parts or len(parts) < len(values):
        sent = producing.one(after_ms=2_000)
        parts += values_of(sent)
        answer(sent)
    assert parts == values


def test_without_an_acknowledgement_nothing_is_waited_for() -> None:
    producing = Producing(acks=0, idempotent=False)
    [record] = producing.append(b"gone")
    sent = producing.one()
    assert not sent.expects_reply
    assert request_of(sent).acks == 0
    sent.finish(OK)
    assert record.outcome == -1


@pytest.mark.parametrize("cut", range(40))
def test_a_cut_answer_is_no_answer(cut: int) -> None:
    producing = Producing()
    [record] = producing.append(b"value")
    sent = producing.one()
    whole = b"\x02\x07events\x02" + bytes(4) + bytes(2) + bytes(8) + b"\xff" * 8 + bytes(8) + b"\x01\x00\x00\x00"
    sent.finish(OK, whole[:cut])
    complete = 1 + 7 + 1 + 4 + 2 + 8 + 8 + 8 + 3
    if cut >= complete:
        assert record.outcome == 0
        return
    assert record.outcome is None
    [again] = producing.turn(after_ms=150)
    assert sequences_of(again) == [(7000, 0, 0)]


# When


def test_what_is_idle_is_sent_at_once_and_gathered_while_something_is_in_flight() -> None:
    producing = Producing()
    producing.append(b"1")
    first = producing.one()
    producing.append(b"2", b"3")
    assert producing.turn() == []
    answer(first, 0)
    assert values_of(producing.one()) == [b"2", b"3"]


def begun(**options: Any) -> Producing:
    """A producer that the broker knows: its first record, offset and sequence number 0, is acknowledged."""
    producing = Producing(**options)
    [first] = producing.append(b"0")
    answer(producing.one(), 0)
    assert first.outcome == 0
    return producing


def test_a_full_batch_leaves_though_something_is_in_flight() -> None:
    producing = begun(batch_size=200)
    producing.append(b"1")
    producing.one()
    producing.append(*[b"x" * 50] * 3)
    assert values_of(producing.one()) == [b"x" * 50] * 2


def test_linger_ms_holds_a_batch_back() -> None:
    producing = Producing(linger_ms=20)
    producing.append(b"1")
    assert producing.turn() == []
    assert producing.probe.turn(12) == 8
    assert values_of(producing.one(after_ms=8)) == [b"1"]


def test_a_flush_sends_what_lingers() -> None:
    producing = Producing(linger_ms=60_000)
    producing.append(b"1")
    producing.probe.flush()
    assert values_of(producing.one()) == [b"1"]


def test_one_request_a_node_carries_all_its_partitions() -> None:
    producing = Producing(4, nodes=2)
    for partition in range(4):
        producing.append(b"%d" % partition, partition=partition)
    sent = producing.turn()
    assert sorted((request.node, sorted(batches_of(request))) for request in sent) == [(0, [0, 2]), (1, [1, 3])]


def test_no_more_requests_in_flight_than_allowed() -> None:
    producing = begun(batch_size=100, max_in_flight=3)
    producing.append(*[b"x" * 60] * 6)
    sent = producing.turn()
    assert len(sent) == 3
    answer(sent[0], 0)
    assert len(producing.turn()) == 1


def test_requests_stay_within_max_request_size() -> None:
    producing = Producing(4, batch_size=1_000, max_request_size=1_500)
    for partition in range(4):
        producing.append(b"x" * 600, partition=partition)
    assert [len(batches_of(sent)) for sent in producing.turn()] == [2, 2]


def test_a_node_that_is_not_ready_gets_nothing() -> None:
    producing = Producing(2, nodes=2)
    producing.probe.network.set_ready(0, False)
    producing.append(b"0", partition=0)
    producing.append(b"1", partition=1)
    assert producing.one().node == 1
    producing.probe.network.set_ready(0, True)
    assert producing.one().node == 0


def test_a_leader_that_cannot_be_connected_to_is_doubted_once_a_pause() -> None:
    """Metadata may have named one that had ended already: nothing else will ever tell."""
    producing = Producing()
    producing.probe.network.set_ready(0, False)
    producing.append(b"1")
    assert producing.turn() == []
    assert not producing.probe.events() & EVENT_METADATA
    producing.probe.network.set_failing(0, True)
    for _ in range(3):
        assert producing.turn() == []
        assert producing.probe.events() & EVENT_METADATA
        assert producing.turn(after_ms=50) == []
        assert not producing.probe.events() & EVENT_METADATA
        producing.turn(after_ms=51)


def test_a_node_that_throttles_is_left_alone_for_so_long() -> None:
    producing = Producing()
    producing.append(b"1")
    answer(producing.one(), 0, throttle_time_ms=300)
    producing.append(b"2")
    assert producing.turn() == []
    assert producing.probe.turn(100) == 200
    assert values_of(producing.one(after_ms=200)) == [b"2"]


def test_a_partition_without_a_leader_asks_for_metadata() -> None:
    producing = Producing()
    producing.probe.lead(producing.topic, 0, -1)
    producing.append(b"1")
    assert producing.turn() == []
    assert producing.probe.events() & EVENT_METADATA
    producing.probe.lead(producing.topic, 0, 0)
    assert values_of(producing.one()) == [b"1"]


def test_nothing_leaves_before_there_is_a_producer_id() -> None:
    producing = Producing()
    producing.probe.set_producer_id(-1, -1)
    producing.append(b"1")
    assert producing.turn() == []
    assert producing.probe.events() & EVENT_PRODUCER_ID
    producing.probe.set_producer_id(8, 3)
    assert sequences_of(producing.one()) == [(8, 3, 0)]


def test_an_id_that_has_come_is_not_asked_for_again() -> None:
    """Turns while it was on its way wanted one too; another id would begin all sequences anew, in mid-flight."""
    producing = Producing()
    producing.probe.set_producer_id(-1, -1)
    producing.append(b"1")
    producing.turn()
    assert producing.probe.events() & EVENT_PRODUCER_ID, "asked for"
    producing.turn()
    producing.probe.set_producer_id(8, 3)
    assert not producing.probe.events() & EVENT_PRODUCER_ID


# Numbers


def test_five_batches_in_flight_are_numbered_on() -> None:
    producing = begun(batch_size=200)
    records = producing.append(*[b"x" * 50] * 11)
    sent = producing.turn()
    assert [sequences_of(request) for request in sent] == [[(7000, 0, 1 + 2 * i)] for i in range(5)]
    for i, request in enumerate(sent):
        answer(request, 100 + 2 * i)
    assert [record.outcome for record in records[:10]] == list(range(100, 110))


def test_a_failed_batch_goes_out_alone_and_before_those_behind_it() -> None:
    producing = begun(batch_size=100)
    records = producing.append(b"a" * 60, b"b" * 60, b"c" * 60)
    first, second, third = producing.turn()
    first.finish(DISCONNECTED)
    answer(second, -1, OUT_OF_ORDER)
    answer(third, -1, OUT_OF_ORDER)
    assert producing.turn(after_ms=20) == []
    order = []
    for offset in range(1, 4):
        again = producing.one(after_ms=150)
        order.append(sequences_of(again)[0][2])
        answer(again, offset)
    assert order == [1, 2, 3]
    assert [record.outcome for record in records] == [1, 2, 3]


def test_the_first_batch_is_alone_until_it_is_acknowledged() -> None:
    """The broker would take the second one if it refused the first, and the first one never after that."""
    producing = Producing(batch_size=100)
    records = producing.append(b"a" * 60, b"b" * 60, b"c" * 60)
    first = producing.one()
    answer(first, -1, NOT_LEADER)
    again = producing.one(after_ms=150)
    assert sequences_of(again) == [(7000, 0, 0)]
    answer(again, 0)
    second, third = producing.turn()
    answer(second, 1)
    answer(third, 2)
    assert [record.outcome for record in records] == [0, 1, 2]


def test_a_batch_that_another_has_overtaken_begins_anew() -> None:
    """A broker that has lost the partition's log takes the later batch while it refuses the earlier one for good."""
    producing = begun(batch_size=100)
    records = producing.append(b"a" * 60, b"b" * 60)
    first, second = producing.turn()
    answer(first, -1, NOT_LEADER)
    answer(second, 0)
    answer(producing.one(after_ms=150), -1, OUT_OF_ORDER)
    again = producing.one(after_ms=400)
    assert sequences_of(again) == [(7000, 1, 0)]
    answer(again, 1)
    assert [record.outcome for record in records] == [1, 0]


def test_a_duplicate_counts_as_written_at_an_unknown_offset() -> None:
    producing = Producing()
    [record] = producing.append(b"twice")
    answer(producing.one(), -1, DUPLICATE)
    assert record.outcome == -1


def test_a_batch_that_is_refused_for_good_restarts_its_partition_under_the_next_epoch() -> None:
    producing = Producing(2)
    [refused] = producing.append(b"bad")
    answer(producing.one(), -1, INVALID_RECORD, error_message="no")
    [after] = producing.append(b"good")
    producing.append(b"other", partition=1)
    sent = producing.one()
    assert sequences_of(sent) == [(7000, 1, 0), (7000, 1, 0)]
    answer(sent, 9)
    assert refused.outcome == (INVALID_RECORD, "no", None)
    assert after.outcome == 9


def test_words_about_single_records_reach_them() -> None:
    producing = Producing(linger_ms=5)
    records = producing.append(b"good", b"bad", b"good too")
    sent = producing.one(after_ms=5)
    reasons = [{"batch_index": 1, "batch_index_error_message": "it is bad"}]
    answer(sent, -1, INVALID_RECORD, error_message="see records", record_errors=reasons)
    assert [record.outcome for record in records] == [
        (INVALID_RECORD, "see records", None),
        (INVALID_RECORD, "see records", "it is bad"),
        (INVALID_RECORD, "see records", None),
    ]


def test_a_broker_that_forgot_the_producer_gets_it_anew() -> None:
    producing = Producing()
    producing.append(b"1")
    answer(producing.one(), 0)
    [record] = producing.append(b"2")
    answer(producing.one(), -1, UNKNOWN_PRODUCER, log_start_offset=0)
    again = producing.one(after_ms=150)
    assert sequences_of(again) == [(7000, 1, 0)]
    answer(again, 1)
    assert record.outcome == 1


def test_epochs_that_are_used_up_ask_for_a_new_id() -> None:
    producing = Producing()
    producing.probe.set_producer_id(7000, 32_767)
    producing.append(b"bad")
    answer(producing.one(), -1, INVALID_RECORD)
    producing.append(b"good")
    assert producing.turn() == []
    assert producing.probe.events() & EVENT_PRODUCER_ID
    producing.probe.set_producer_id(7001, 0)
    assert sequences_of(producing.one()) == [(7001, 0, 0)]


# Retries and ends


def test_retries_come_after_pauses_that_grow() -> None:
    producing = Producing()
    producing.append(b"1")
    sent = producing.one()
    pauses = []
    for _ in range(6):
        sent.finish(TIMED_OUT)
        pauses.append(producing.probe.turn())
        sent = producing.one(after_ms=pauses[-1])
    for pause, nominal in zip(pauses, [100, 200, 400, 800, 1_000, 1_000], strict=True):
        assert 0.8 * nominal <= pause <= 1.2 * nominal


def test_a_new_leader_is_asked_for_and_used() -> None:
    producing = Producing(nodes=1)
    producing.probe.network.set_ready(3, True)
    [record] = producing.append(b"1")
    answer(producing.one(), -1, NOT_LEADER)
    assert producing.probe.events() & EVENT_METADATA
    producing.probe.lead(producing.topic, 0, 3)
    again = producing.one(after_ms=150)
    assert again.node == 3
    answer(again, 4)
    assert record.outcome == 4


@pytest.mark.parametrize("code", [NOT_LEADER, FENCED_LEADER_EPOCH])
def test_a_newer_leader_that_an_answer_names_is_told(code: int) -> None:
    """KIP-951: of the leaders that were named the newest, and only one that is newer than what is known."""
    producing = Producing()
    producing.probe.set_leader(producing.topic, 0, 0, 5)
    producing.append(b"1")
    for epoch, named in [(5, (-1, 0)), (7, (3, 7)), (6, (3, 7)), (8, (3, 8))]:
        answer(producing.one(after_ms=1_500), -1, code, current_leader={"leader_id": 3, "leader_epoch": epoch})
        assert producing.probe.named_leader(producing.topic, 0) == named
        assert bool(producing.probe.events() & EVENT_LEADERS) == (epoch in (7, 8))


def test_other_errors_name_no_leader() -> None:
    producing = Producing()
    producing.append(b"1")
    answer(producing.one(), -1, UNKNOWN_PARTITION, current_leader={"leader_id": 3, "leader_epoch": 8})
    assert not producing.probe.events() & EVENT_LEADERS


def test_a_new_leader_waits_for_no_pause() -> None:
    """Neither with what the former one has refused before, nor with what it refuses later."""
    producing = Producing(idempotent=False, batch_size=80)
    producing.probe.network.set_ready(3, True)
    producing.append(b"1" * 60)
    producing.append(b"2" * 60)
    producing.append(b"3" * 60)
    producing.probe.flush()
    first, second, third = producing.turn()
    answer(first, -1, NOT_LEADER)
    answer(second, -1, NOT_LEADER)
    producing.probe.set_leader(producing.topic, 0, 3, 9)
    assert [sent.node for sent in producing.turn()] == [3, 3]
    answer(third, -1, NOT_LEADER)
    assert [sent.node for sent in producing.turn()] == [3]


def test_retries_are_counted() -> None:
    producing = Producing(idempotent=False, acks=1, retries=2)
    [record] = producing.append(b"1")
    for _ in range(3):
        assert record.outcome is None
        producing.one(after_ms=1_500).finish(DISCONNECTED)
    assert record.outcome == (13, None, None)


def test_strict_order_mutes_a_partition_while_it_is_answered() -> None:
    producing = Producing(batch_size=100, max_in_flight=1, idempotent=False)
    producing.append(b"a" * 60, b"b" * 60)
    first = producing.one()
    assert producing.turn() == []
    first.finish(DISCONNECTED)
    again = producing.one(after_ms=150)
    assert values_of(again) == [b"a" * 60]
    answer(again, 0)
    assert values_of(producing.one()) == [b"b" * 60]


def test_delivery_timeout_ends_what_was_never_sent() -> None:
    producing = Producing(delivery_timeout_ms=1_000)
    producing.probe.lead(producing.topic, 0, -1)
    [record] = producing.append(b"1")
    assert producing.probe.turn(400) == 600
    producing.turn(after_ms=600)
    assert record.outcome == (DELIVERY_TIMEOUT, None, None)
    assert producing.probe.accumulator.live_buffers == 0


def test_delivery_timeout_ends_what_is_in_flight_and_its_partition_begins_anew() -> None:
    producing = Producing(delivery_timeout_ms=1_000)
    [record] = producing.append(b"1")
    sent = producing.one()
    producing.turn(after_ms=1_000)
    assert record.outcome == (DELIVERY_TIMEOUT, None, None)
    # The bytes are still being sent: they may not be given back yet.
    assert producing.probe.accumulator.live_buffers == 1
    producing.append(b"2")
    assert producing.turn() == []
    sent.finish(DISCONNECTED)
    assert sequences_of(producing.one()) == [(7000, 1, 0)]


def test_a_late_acknowledgement_settles_what_was_given_up() -> None:
    producing = Producing(delivery_timeout_ms=1_000)
    producing.append(b"1")
    sent = producing.one()
    producing.turn(after_ms=1_000)
    producing.append(b"2")
    answer(sent, 0)
    assert sequences_of(producing.one()) == [(7000, 0, 1)]


def test_a_batch_that_is_too_large_is_split_and_its_parts_keep_order_and_numbers() -> None:
    producing = Producing(batch_size=10_000, linger_ms=5)
    records = producing.append(*[b"%02d" % i + b"x" * 500 for i in range(10)], key=b"k", timestamp_ms=7)
    sent = producing.one(after_ms=5)
    answer(sent, -1, MESSAGE_TOO_LARGE)
    parts: list[bytes] = []
    for _ in range(8):
        requests = producing.turn()
        for request in requests:
            batch = batches_of(request)[0]
            if batch.record_count > 3:
                answer(request, -1, MESSAGE_TOO_LARGE)
                continue
            assert batch.base_sequence == len(parts)
            answer(request, len(parts))
            parts += values_of(request)
    assert [part[:2] for part in parts] == [b"%02d" % i for i in range(10)]
    assert [record.outcome for record in records] == list(range(10))
    assert producing.probe.accumulator.live_buffers == 0


@pytest.mark.parametrize("large", [0, 1, 2])
def test_a_record_that_is_too_large_among_tiny_ones_is_refused_alone(large: int) -> None:
    """The tiny ones would fit into the room that is left for a large one: a part must not hold all again."""
    producing = Producing(batch_size=20_000, linger_ms=5)
    values = [b"x" * 5_000 if number == large else b"s" for number in range(3)]
    records = producing.append(*values, key=b"k")
    request = producing.one(after_ms=5)
    answer(request, -1, MESSAGE_TOO_LARGE)
    offset = 0
    for _ in range(6):
        for request in producing.turn():
            if any(len(value) > 1 for value in values_of(request)):
                answer(request, -1, MESSAGE_TOO_LARGE)
            else:
                answer(request, offset)
                offset += len(values_of(request))
    outcomes = [record.outcome for record in records]
    assert outcomes.pop(large)[0] == MESSAGE_TOO_LARGE
    assert outcomes == [0, 1]


def test_one_record_that_is_too_large_is_refused() -> None:
    producing = Producing()
    [record] = producing.append(b"x" * 50_000)
    answer(producing.one(), -1, MESSAGE_TOO_LARGE)
    assert record.outcome[0] == MESSAGE_TOO_LARGE


def test_an_error_of_the_producer_ends_everything() -> None:
    producing = Producing(2)
    [record] = producing.append(b"1")
    answer(producing.one(), -1, CLUSTER_AUTHORIZATION)
    [later] = producing.append(b"2", partition=1)
    assert producing.turn() == []
    assert producing.probe.events() & EVENT_ERROR
    assert record.outcome[0] == later.outcome[0] == CLUSTER_AUTHORIZATION


def test_a_refusal_of_one_topic_leaves_the_producer_working() -> None:
    producing = Producing()
    [record] = producing.append(b"1")
    answer(producing.one(), -1, TOPIC_AUTHORIZATION)
    assert record.outcome[0] == TOPIC_AUTHORIZATION
    [later] = producing.append(b"2")
    answer(producing.one(), 5)
    assert later.outcome == 5


def test_a_broker_without_a_common_version() -> None:
    producing = Producing(idempotent=False)
    producing.probe.network.version = 2
    [record] = producing.append(b"1")
    assert producing.turn() == []
    assert record.outcome[0] == 35


def test_what_is_in_flight_when_the_engine_closes() -> None:
    producing = Producing()
    [record] = producing.append(b"1")
    producing.one().finish(CLOSED)
    assert record.outcome[0] == -101


def test_unsupported_versions_are_fatal_for_an_idempotent_producer() -> None:
    producing = Producing()
    [record] = producing.append(b"1")
    producing.one().finish(UNSUPPORTED_VERSION)
    assert record.outcome[0] == 35
    assert producing.probe.events() & EVENT_ERROR


# Transactions


def test_a_partition_outside_the_transaction_is_not_sent() -> None:
    producing = Producing(transactional_id="orders")
    producing.append(b"1")
    assert producing.turn() == []
    producing.probe.add_to_transaction(producing.topic, 0)
    sent = producing.one()
    request = request_of(sent)
    assert (request.transactional_id, sent.version) == ("orders", 11)
    assert batches_of(sent)[0].is_transactional


def test_a_failure_in_a_transaction_is_told() -> None:
    producing = Producing(transactional_id="orders")
    producing.probe.add_to_transaction(producing.topic, 0)
    [record] = producing.append(b"1")
    answer(producing.one(), -1, INVALID_RECORD)
    assert record.outcome[0] == INVALID_RECORD
    assert producing.probe.events() & EVENT_ERROR
