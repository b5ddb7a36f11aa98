"""Checks the options of a source: what to read, from where to where, and how. Follows Spark's Kafka source."""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

from kcore.client.metadata.cluster import TopicPartition
from kspark.offset_policy import (
    AT_EARLIEST,
    AT_LATEST,
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    OffsetPolicy,
    Place,
    everywhere,
    policy_of_offsets,
    policy_of_timestamps,
    policy_of_word,
)
from kspark.options import OptionError, Options, mistakes
from kspark.schema import HEADERS, RECORD_COLUMNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SERVERS = "bootstrap.servers"
STRATEGIES = ("assign", "subscribe", "subscribePattern")
# Client settings that users may not set, because the source keeps positions, decodes and commits itself.
KEPT_SETTINGS = {
    "auto.offset.reset": "set startingOffsets instead",
    "enable.auto.commit": "offsets are stored in the checkpoint; set commitGroup to commit them as well",
    "key.deserializer": "keys are bytes; convert them in the DataFrame",
    "value.deserializer": "values are bytes; convert them in the DataFrame",
    "interceptor.classes": "the source must return all records",
}
DEFAULT_DELAY = "15m"
# A file on the driver. A pipeline creates it to end its queries after their running batches.
DRAIN_FILE = "drainFile"
# All options except client settings (`kafka.*`). groupIdPrefix, an option of Spark's Kafka source, has no effect here.
SOURCE_OPTIONS = (
    *STRATEGIES,
    *(f"{which}{kind}" for which in ("starting", "ending") for kind in ("Offsets", "OffsetsByTimestamp", "Timestamp")),
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "includeHeaders",
    "columns",
    "minOffsetsPerTrigger",
    "maxOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "commitGroup",
    "metadataMaxAgeMs",
    "pushFilters",
    "groupIdPrefix",
    DRAIN_FILE,
)
DURATION = re.compile(r"\s*(\d+)\s*(ms|s|sec|second|m|min|minute|h|hour|d|day)s?\s*", re.IGNORECASE)
UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Wanted(NamedTuple):
    """The topics or partitions to read. Exactly one field is set."""

    partitions: frozenset[TopicPartition] | None = None
    topics: frozenset[str] | None = None
    pattern: re.Pattern[str] | None = None


class SourceOptions(NamedTuple):
    """Checked options. Times are in ms. `client` are the consumer's settings, without those of KEPT_SETTINGS."""

    client: dict[str, str]
    wanted: Wanted
    starting: OffsetPolicy
    ending: OffsetPolicy
    # If no record is at or after a starting time: start at the end instead of failing.
    without_match_at_end: bool
    fail_on_data_loss: bool
    columns: tuple[str, ...]
    most_offsets_per_trigger: int | None
    least_offsets_per_trigger: int | None
    trigger_delay_ms: int
    least_tasks: int | None
    most_offsets_per_task: int | None
    poll_timeout_ms: int
    offset_retries: int
    offset_retry_ms: int
    commit_group: str | None
    metadata_age_ms: int
    pushes_filters: bool
    # While this file exists, the stream reports no new data.
    drain_file: str | None


def source_options(given: dict[str, str], *, is_streaming: bool) -> SourceOptions:
    """Return the options. Raises OptionError if one is invalid."""
    options = Options(given)
    return SourceOptions(**{field: read(options, is_streaming) for field, read in _READERS.items()})


def source_mistakes(given: dict[str, str], *, is_streaming: bool) -> list[str]:
    """Return the messages of all errors that `source_options` would raise."""
    options = Options(given)
    return mistakes(partial(read, options, is_streaming) for read in _READERS.values())


def _or(given: int | None, default: int) -> int:
    return default if given is None else given


def client_settings(options: Options) -> dict[str, str]:
    settings = options.of_client()
    if not settings.get(SERVERS):
        raise OptionError("kafka.bootstrap.servers must name the cluster, such as localhost:9092")
    for name, reason in KEPT_SETTINGS.items():
        if name in settings:
            raise OptionError(f"kafka.{name} is not supported by this source: {reason}")
    return settings


def wanted_topics(options: Options) -> Wanted:
    given = [name for name in STRATEGIES if name in options]
    if len(given) != 1:
        raise OptionError(f"exactly one of {', '.join(STRATEGIES)} must be given, not {' and '.join(given) or 'none'}")
    name = given[0]
    text = (options.text(name) or "").strip()
    if name == "assign":
        return Wanted(partitions=_assigned(options.document(name)))
    if name == "subscribe":
        topics = frozenset(topic.strip() for topic in text.split(",") if topic.strip())
        if not topics:
            raise OptionError("subscribe must name at least one topic; separate topics with commas")
        return Wanted(topics=topics)
    if not text:
        raise OptionError("subscribePattern must be a regular expression that matches whole topic names")
    try:
        return Wanted(pattern=re.compile(text))
    except re.error as error:
        raise OptionError(f"subscribePattern {text!r} is not a regular expression: {error}") from None


def _assigned(document: Any) -> frozenset[TopicPartition]:
    try:
        found = frozenset(TopicPartition(topic, int(one)) for topic, numbers in document.items() for one in numbers)
    except (AttributeError, TypeError, ValueError):
        found = frozenset()
    if not found:
        raise OptionError('assign must be a JSON object of topics and their partitions, such as {"orders": [0, 1]}')
    return found


def _policy(options: Options, which: str) -> OffsetPolicy | None:
    """Return the policy of the option with the highest precedence; None if no option is given.

    Precedence as in Spark: one timestamp for all partitions, timestamps by partition, offsets.
    """
    time_ms = options.number(f"{which}Timestamp", at_least=0)
    if time_ms is not None:
        return everywhere(f"{which}Timestamp", Place(None, time_ms))
    name = f"{which}OffsetsByTimestamp"
    if name in options:
        return policy_of_timestamps(name, options.document(name))
    name = f"{which}Offsets"
    text = options.text(name)
    if text is None:
        return None
    return policy_of_word(name, text) or policy_of_offsets(name, options.document(name))


def _starting(options: Options, is_streaming: bool) -> OffsetPolicy:
    policy = _policy(options, "starting")
    if policy is None:
        return everywhere("startingOffsets", AT_LATEST if is_streaming else AT_EARLIEST)
    if not is_streaming and policy.mentions(LATEST_OFFSET):
        raise OptionError(f"{policy.option} must not be latest (-1) in a batch, which would read nothing")
    return policy


def _ending(options: Options, is_streaming: bool) -> OffsetPolicy:
    policy = _policy(options, "ending")
    if policy is None:
        return everywhere("endingOffsets", AT_LATEST)
    if is_streaming:
        raise OptionError(f"{policy.option} is for batches only: a stream has no end")
    if policy.mentions(EARLIEST_OFFSET):
        raise OptionError(f"{policy.option} must not be earliest (-2): there are no records before it")
    return policy


def _strategy(options: Options) -> bool:
    given = options.text("startingOffsetsByTimestampStrategy", "error") or ""
    if given.lower() not in ("error", "latest"):
        raise OptionError(f"startingOffsetsByTimestampStrategy must be error or latest, not {given!r}")
    return given.lower() == "latest"


def columns_of(options: Options) -> tuple[str, ...]:
    """Return the requested columns in the order of the schema."""
    everything = (*RECORD_COLUMNS, HEADERS) if options.flag("includeHeaders", False) else RECORD_COLUMNS
    given = options.text("columns")
    if given is None:
        return everything
    asked = {name.strip().lower() for name in given.split(",") if name.strip()}
    known = {name.lower(): name for name in (*RECORD_COLUMNS, HEADERS)}
    if not asked or asked - set(known):
        raise OptionError(f"invalid columns {given!r}. Valid columns: {', '.join(known.values())}")
    return tuple(name for lower, name in known.items() if lower in asked)


def _duration(name: str, text: str | None) -> int:
    match = DURATION.fullmatch(text or "")
    if match is None:
        raise OptionError(f"{name} must be a time such as 500ms, 30s or 15m, not {text!r}")
    unit = match[2].lower()
    return int(match[1]) * UNIT_MS["ms" if unit == "ms" else unit[0]]


def _least_offsets(options: Options) -> int | None:
    least, most = (options.number(f"{name}OffsetsPerTrigger", at_least=1) for name in ("min", "max"))
    if least is not None and most is not None and least > most:
        raise OptionError(f"minOffsetsPerTrigger ({least}) must not be above maxOffsetsPerTrigger ({most})")
    return least


# How to read each field of SourceOptions. The second argument is whether the source is a stream.
_READERS: dict[str, Callable[[Options, bool], Any]] = {
    "least_offsets_per_trigger": lambda options, _: _least_offsets(options),
    "most_offsets_per_trigger": lambda options, _: options.number("maxOffsetsPerTrigger", at_least=1),
    "client": lambda options, _: client_settings(options),
    "wanted": lambda options, _: wanted_topics(options),
    "starting": _starting,
    "ending": _ending,
    "without_match_at_end": lambda options, _: _strategy(options),
    "fail_on_data_loss": lambda options, _: options.flag("failOnDataLoss", True),
    "columns": lambda options, _: columns_of(options),
    "trigger_delay_ms": lambda options, _: _duration("maxTriggerDelay", options.text("maxTriggerDelay", DEFAULT_DELAY)),
    "least_tasks": lambda options, _: options.number("minPartitions", at_least=1),
    "most_offsets_per_task": lambda options, _: options.number("maxRecordsPerPartition", at_least=1),
    "poll_timeout_ms": lambda options, _: options.number("kafkaConsumer.pollTimeoutMs", at_least=1) or 120_000,
    "offset_retries": lambda options, _: _or(options.number("fetchOffset.numRetries", at_least=0), 3),
    "offset_retry_ms": lambda options, _: _or(options.number("fetchOffset.retryIntervalMs", at_least=0), 10),
    "commit_group": lambda options, _: options.text("commitGroup"),
    "metadata_age_ms": lambda options, is_streaming: _or(
        options.number("metadataMaxAgeMs", at_least=0), 30_000 if is_streaming else 0
    ),
    "pushes_filters": lambda options, _: options.flag("pushFilters", False),
    "drain_file": lambda options, _: options.text(DRAIN_FILE),
}
