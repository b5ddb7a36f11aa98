"""Apache Kafka 3.9's LogValidator and ours, on the same produced bytes: the same error, and the same bytes stored."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, given, settings

from kcore.record.validator import Validation, validate
from tests.property.record.strategies import RULES, batches
from tests.unit.record.batches import field
from tests.unit.record.reference_validator import (
    HEADER_BYTES,
    INVALID_RECORD,
    INVALID_TIMESTAMP,
    UNSUPPORTED_COMPRESSION_TYPE,
    Refused,
    Rules,
    decompressed,
    parse_records,
)

CASES = 1000
UNKNOWN_SERVER_ERROR = -1


class Judgement(NamedTuple):
    """What Apache Kafka came to."""

    error: int
    record_index: int
    max_timestamp: int
    records: bytes


def generated_cases() -> list[tuple[bytes, Rules]]:
    cases: list[tuple[bytes, Rules]] = []

    @settings(max_examples=CASES, derandomize=True, database=None, phases=[Phase.generate], deadline=None)
    @given(batches(), RULES)
    def collect(data: bytes, rules: Rules) -> None:
        cases.append((data, rules))

    collect()
    return cases


def line_of(data: bytes, rules: Rules) -> str:
    version = 6 if rules.reject_zstd else 11
    values = [version, rules.origin, int(rules.compacted), rules.timestamp_type, rules.target_codec]
    values += [rules.timestamp_before_max_ms, rules.timestamp_after_max_ms, rules.now_ms, rules.base_offset]
    return " ".join(map(str, [*values, rules.leader_epoch, rules.max_message_bytes, data.hex()])) + "\n"


def judged_by_kafka(checkout: Path, cases: list[tuple[bytes, Rules]]) -> list[Judgement]:
    jars = subprocess.run(
        [checkout / "bin/kafka-jars", "3.9"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    source = Path(__file__).with_name("LogValidatorOracle.java")
    lines = "".join(line_of(*case) for case in cases)
    done = subprocess.run(
        ["java", "-cp", jars, str(source)], input=lines, stdout=subprocess.PIPE, text=True, check=True, timeout=200
    )
    answers = []
    for line in done.stdout.splitlines():
        error, index, max_timestamp, hexadecimal = line.split()
        records = b"" if hexadecimal == "-" else bytes.fromhex(hexadecimal)
        answers.append(Judgement(int(error), int(index), int(max_timestamp), records))
    return answers


def counts_up(data: bytes, payload: bytes) -> bool:
    try:
        rows = parse_records(payload, field(data, "record_count"), 0)
    except Refused:
        return True
    return [row.offset_delta for row in rows] == list(range(len(rows)))


def java_cannot_write_anew(data: bytes) -> bool:
    """What MemoryRecordsBuilder throws at while a batch is compressed anew: Kafka answers UNKNOWN_SERVER_ERROR then."""
    payload = decompressed(field(data, "attributes") & 7, data[HEADER_BYTES:])
    rows = parse_records(payload, field(data, "record_count"), field(data, "base_timestamp"))
    has_producer, is_transactional = field(data, "producer_id") >= 0, bool(field(data, "attributes") & 0x10)
    return (
        any(row.timestamp < -1 for row in rows)
        or (is_transactional and not has_producer)
        # Only the broker's own batches get so far without a sequence, or with another base offset.
        or (has_producer and field(data, "base_sequence") < 0)
        or field(data, "base_offset") != 0
        or not counts_up(data, payload)
    )


def differs_on_purpose(data: bytes, ours: Validation, kafka: Judgement) -> bool:
    """The differences that validator.pyx owns up to."""
    codec = field(data, "attributes") & 7
    if field(data, "length") + 12 < len(data):
        return ours.error == INVALID_RECORD  # bytes behind the batch
    if field(data, "last_offset_delta") + 1 != field(data, "record_count"):
        return ours.error == INVALID_RECORD  # asked of the broker's own batches too
    if codec == 0 and ours.error in (INVALID_RECORD, INVALID_TIMESTAMP) and not counts_up(data, data[HEADER_BYTES:]):
        return True
    if kafka.error == UNKNOWN_SERVER_ERROR:
        if ours.error == 0:
            return java_cannot_write_anew(data)
        return codec != 0 and ours.error in (INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE)
    return False


def stored(records: bytes) -> tuple[dict[str, int], bytes]:
    """A stored batch, compression aside: its header but for lengths and checksum, and its records."""
    names = [
        "base_offset",
        "leader_epoch",
        "magic",
        "attributes",
        "last_offset_delta",
        "base_timestamp",
        "max_timestamp",
    ]
    names += ["producer_id", "producer_epoch", "base_sequence", "record_count"]
    return {name: field(records, name) for name in names}, decompressed(records[22] & 7, records[HEADER_BYTES:])


@pytest.mark.full_size
@pytest.mark.needs("java", "mvn")
def test_kafkas_log_validator_comes_to_the_same(checkout: Path) -> None:
    cases = generated_cases()
    judgements = judged_by_kafka(checkout, cases)
    assert len(judgements) == len(cases) >= CASES // 2
    taken = 0
    for (data, rules), kafka in zip(cases, judgements, strict=True):
        ours = validate(data, **rules._asdict())
        if differs_on_purpose(data, ours, kafka):
            continue
        context = (data.hex(), rules, kafka, ours)
        assert ours.error == kafka.error, context
        if ours.error == 0:
            taken += 1
            assert ours.records is not None
            assert ours.max_timestamp == kafka.max_timestamp, context
            if ours.rebuilt:
                assert stored(ours.records) == stored(kafka.records), context
            else:
                assert ours.records == kafka.records, context
        elif kafka.record_index >= 0:
            assert ours.failed_record_index == kafka.record_index, context
    assert taken > len(cases) // 4
