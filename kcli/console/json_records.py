"""Records as lines of JSON without loss, and back.

    {"topic":"t","partition":0,"offset":3,"timestamp":1700000000000,"timestamp_type":"CreateTime",
     "key":"k","value":"v","headers":[["name","value"],["again",null],["raw",{"base64":"/w=="}]]}       in one line

Keys, values, header names and header values are strings if their bytes are UTF-8, null if they are null, and otherwise
objects {"base64": ...} or {"hex": ...}. Headers keep their order; names may be repeated. Input needs "value" (null is a
tombstone; a missing value is an error). "key", "headers" and "timestamp" are optional. "partition" is used only on
request. "topic", "offset" and "timestamp_type" are ignored, because the broker decides on them.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from json.encoder import encode_basestring

from kcli.console.record_batch import RecordBatch
from kcli.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcli.console.record_batch import Headers
    from kcore.client.consumer.consumer_record import ConsumerRecord

BASE64, HEX = "base64", "hex"
FIELDS = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers")
TIMESTAMP_TYPES = {0: '"CreateTime"', 1: '"LogAppendTime"', -1: "null"}
MAX_TIMESTAMP = 2**63 - 1
MAX_PARTITION = 2**31 - 1


class JsonFormatter:
    """One object per line. `binary` is the encoding of bytes that are not UTF-8."""

    # Columns lose header names that are not UTF-8.
    of_columns = None
    needs_headers = True

    def __init__(self, binary: str = BASE64) -> None:
        self._is_hex = binary == HEX

    def of_records(self, records: list[ConsumerRecord]) -> bytes:
        return "".join([self._line(record) for record in records]).encode()

    def _line(self, record: ConsumerRecord) -> str:
        """Built by hand, in a third of the time of json.dumps with a dictionary."""
        headers = record.headers
        listed = ",".join([f"[{self._name(name)},{self._bytes(value)}]" for name, value in headers]) if headers else ""
        return (
            f'{{"topic":{encode_basestring(record.topic)},"partition":{record.partition},"offset":{record.offset},'
            f'"timestamp":{record.timestamp},"timestamp_type":{TIMESTAMP_TYPES[record.timestamp_type]},'
            f'"key":{self._bytes(record.key)},"value":{self._bytes(record.value)},"headers":[{listed}]}}\n'
        )

    def _name(self, name: str) -> str:
        return self._bytes(name.encode("utf-8", "surrogateescape"))

    def _bytes(self, data: bytes | None) -> str:
        if data is None:
            return "null"
        try:
            return encode_basestring(data.decode())
        except UnicodeDecodeError:
            return f'{{"hex":"{data.hex()}"}}' if self._is_hex else f'{{"base64":"{b64encode(data).decode()}"}}'


class JsonReader:
    """Reads the output of JsonFormatter, and similar lines."""

    def __init__(self, *, keep_partitions: bool = False, ignore_error: bool = False) -> None:
        self._keep_partitions = keep_partitions
        self._ignore_error = ignore_error

    def read(self, lines: list[bytes], first_line: int) -> RecordBatch:
        """The records of the lines up to the first invalid line. Empty lines are skipped."""
        rows: list[tuple[bytes | None, bytes | None, Headers, int | None, int | None]] = []
        passed_over: list[str] = []
        failure: Failure | None = None
        last_line = first_line + len(lines) - 1
        for number, line in enumerate(lines, first_line):
            if not line.strip():
                continue
            try:
                rows.append(self._parse(line))
            except ValueError as error:
                if self._ignore_error:
                    passed_over.append(f"line {number}: {error}")
                    continue
                failure = Failure(f"line {number}: {error}. Set ignore.error=true to skip such lines")
                last_line = number - 1
                break
        return RecordBatch(
            first_line,
            last_line,
            [row[0] for row in rows],
            [row[1] for row in rows] if any(row[1] is not None for row in rows) else None,
            [row[2] for row in rows] if any(row[2] for row in rows) else None,
            _timestamps([row[3] for row in rows]),
            [row[4] for row in rows] if self._keep_partitions else None,
            largest_bytes=max(map(len, lines), default=0),
            passed_over=passed_over,
            failure=failure,
        )

    def _parse(self, line: bytes) -> tuple[bytes | None, bytes | None, Headers, int | None, int | None]:
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise ValueError("must be a JSON object")
        for name in fields:
            if name not in FIELDS:
                raise ValueError(f"unknown field {name!r}; valid fields: {', '.join(FIELDS)}")
        if "value" not in fields:
            raise ValueError('no "value"; write null for a tombstone')
        return (
            _as_bytes("value", fields["value"]),
            _as_bytes("key", fields.get("key")),
            _headers(fields.get("headers")),
            _number("timestamp", fields.get("timestamp"), MAX_TIMESTAMP),
            _number("partition", fields.get("partition"), MAX_PARTITION) if self._keep_partitions else None,
        )


def _timestamps(times: list[int | None]) -> list[int] | None:
    if all(time is None for time in times):
        return None
    import time

    now_ms = int(time.time() * 1000)
    return [now_ms if given is None else given for given in times]


def _number(name: str, given: Any, maximum: int) -> int | None:
    """Records of the oldest format have the timestamp -1, which means none."""
    if given is None or (name == "timestamp" and given == -1):
        return None
    if type(given) is not int or not 0 <= given <= maximum:
        raise ValueError(f"{name} {given!r}: must be a whole number from 0 to {maximum}")
    return given


def _headers(given: Any) -> Headers:
    if given is None:
        return ()
    if isinstance(given, dict):
        given = list(given.items())
    if not isinstance(given, list) or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in given):
        raise ValueError("headers: must be a list of pairs [name, value]")
    headers = []
    for name, value in given:
        named = _as_bytes("header name", name)
        if named is None:
            raise ValueError("header name: must not be null")
        headers.append((named, _as_bytes(f"header {name}", value)))
    return headers


def _as_bytes(what: str, given: Any) -> bytes | None:
    if given is None:
        return None
    try:
        if isinstance(given, str):
            return given.encode()
        if isinstance(given, dict) and len(given) == 1:
            ((form, text),) = given.items()
            if form == BASE64 and isinstance(text, str):
                return b64decode(text, validate=True)
            if form == HEX and isinstance(text, str):
                return bytes.fromhex(text)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    raise ValueError(f'{what}: must be a string, null, {{"base64": "..."}} or {{"hex": "..."}}')
