"""Lines as records, in the format of kafka-console-producer (LineMessageReader).

    [headers <headers.delimiter>] [key <key.separator>] value
    headers: name <headers.key.separator> value, separated by <headers.separator>

A part that equals `null.marker` is null. With `ignore.error`, missing separators are no errors: a line without a key
separator is a value, and a header without its separator has a null value. Unlike in Kafka, separators are plain text,
not patterns, and an empty headers part means no headers.
"""

from __future__ import annotations

from kcli.console.record_batch import RecordBatch
from kcli.failures import Failure, UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcli.console.record_batch import Headers

SEPARATORS = {"key.separator": "\t", "headers.delimiter": "\t", "headers.separator": ",", "headers.key.separator": ":"}
READER_PROPERTIES = ("parse.key", "parse.headers", *SEPARATORS, "null.marker", "ignore.error")
# Kafka's own class, under its current and its former name.
READER_CLASSES = ("org.apache.kafka.tools.LineMessageReader", "kafka.tools.ConsoleProducer$LineMessageReader")
SHOWN_BYTES = 80


def refuse_unknown(properties: dict[str, str], known: tuple[str, ...], option: str) -> None:
    """Raises UsageFailure for a property that is not used."""
    for name in properties:
        if name not in known:
            raise UsageFailure(f"{option} {name}: unknown property. Valid properties: {', '.join(known)}")


def is_true(properties: dict[str, str], name: str) -> bool:
    """As in Kafka's tools, everything but `true` is false."""
    return properties.get(name, "false").strip().lower() == "true"


class LineReader:
    def __init__(self, properties: dict[str, str]) -> None:
        refuse_unknown(properties, READER_PROPERTIES, "--property")
        self._parse_key = is_true(properties, "parse.key")
        self._parse_headers = is_true(properties, "parse.headers")
        self._ignore_error = is_true(properties, "ignore.error")
        self._null_marker = properties["null.marker"].encode() if "null.marker" in properties else None
        separators = {name: properties.get(name, default).encode() for name, default in SEPARATORS.items()}
        self._refuse_confusion(separators)
        self._key_separator = separators["key.separator"]
        self._headers_delimiter = separators["headers.delimiter"]
        self._headers_separator = separators["headers.separator"]
        self._headers_key_separator = separators["headers.key.separator"]

    def _refuse_confusion(self, separators: dict[str, bytes]) -> None:
        for name, separator in separators.items():
            if not separator:
                raise UsageFailure(f"{name}: must not be empty")
            if separator == self._null_marker:
                raise UsageFailure(f"null.marker and {name}: must not be equal")
        names = [name for name in separators if name.startswith("headers.")]
        for position, name in enumerate(names):
            for other in names[position + 1 :]:
                if separators[name] == separators[other]:
                    raise UsageFailure(f"{name} and {other}: must not be equal")

    def read(self, lines: list[bytes], first_line: int) -> RecordBatch:
        """The records of the lines up to the first line without a separator."""
        largest = max(map(len, lines), default=0)
        last_line = first_line + len(lines) - 1
        if not (self._parse_key or self._parse_headers):
            values: list[bytes | None] = list(lines)
            if self._null_marker is not None:
                values = [self._or_null(line) for line in lines]
            return RecordBatch(first_line, last_line, values, largest_bytes=largest)
        values = []
        keys: list[bytes | None] | None = [] if self._parse_key else None
        headers: list[Headers] | None = [] if self._parse_headers else None
        failure: Failure | None = None
        for number, line in enumerate(lines, first_line):
            try:
                key, value, line_headers = self._parse(line, number)
            except Failure as error:
                failure, last_line = error, number - 1
                break
            values.append(value)
            if keys is not None:
                keys.append(key)
            if headers is not None:
                headers.append(line_headers)
        return RecordBatch(first_line, last_line, values, keys, headers, largest_bytes=largest, failure=failure)

    def _parse(self, line: bytes, number: int) -> tuple[bytes | None, bytes | None, Headers]:
        headers: Headers = ()
        key: bytes | None = None
        rest = line
        if self._parse_headers:
            head, rest = self._split(rest, self._headers_delimiter, "headers delimiter", number)
            headers = self._headers(head, number) if head else ()
        if self._parse_key:
            key, rest = self._split(rest, self._key_separator, "key separator", number)
        return self._or_null(key), self._or_null(rest), headers

    def _split(self, text: bytes, separator: bytes, what: str, number: int) -> tuple[bytes | None, bytes]:
        head, found, rest = text.partition(separator)
        if found:
            return head, rest
        if self._ignore_error:
            return None, text
        raise Failure(
            f"line {number}: no {what} {separator.decode()!r} in {_shown(text)}. Set ignore.error=true to accept this"
        )

    def _headers(self, text: bytes, number: int) -> Headers:
        if text == self._null_marker:
            return ()
        headers: list[tuple[bytes, bytes | None]] = []
        pairs = text.split(self._headers_separator)
        while len(pairs) > 1 and not pairs[-1]:
            pairs.pop()
        for pair in pairs:
            name, value = self._split(pair, self._headers_key_separator, "header key separator", number)
            if name is None:
                headers.append((pair, None))
                continue
            if name == self._null_marker:
                raise Failure(f"line {number}: a header name equals null.marker. Header names cannot be null")
            headers.append((name, self._or_null(value)))
        return headers

    def _or_null(self, part: bytes | None) -> bytes | None:
        return None if part == self._null_marker else part


def _shown(text: bytes) -> str:
    return repr(text[:SHOWN_BYTES].decode("utf-8", "replace"))
