"""The configuration of one log, as the native code needs it (Kafka's `LogConfig`).

It is made from a topic's typed configuration, or from any mapping of Kafka's names to numbers or their text. Missing
keys get Kafka's defaults. Treat instances as immutable: to change the configuration, pass a new object to the log,
which applies it between two appends.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Properties(Protocol):
        """The interface that a dict and a TopicConfig have in common."""

        def get(self, name: str, /) -> object: ...


LONG_MAX = 2**63 - 1
INT_MIN = -(2**31)
CODECS = {"producer": -1, "uncompressed": 0, "none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
TIMESTAMP_TYPES = {"CreateTime": 0, "LogAppendTime": 1}
# The maximum size of a decompressed batch: a bound on memory, far above that of any real batch.
DECOMPRESSED_LIMIT_BYTES = 256 * 1024 * 1024
PRODUCER_EXPIRATION_MS = 86_400_000

# Attribute, configuration, default.
NUMBERS: tuple[tuple[str, str, int], ...] = (
    ("segment_bytes", "segment.bytes", 1_073_741_824),
    ("segment_ms", "segment.ms", 604_800_000),
    ("segment_jitter_ms", "segment.jitter.ms", 0),
    ("index_interval_bytes", "index.interval.bytes", 4096),
    ("max_index_bytes", "segment.index.bytes", 10_485_760),
    ("flush_messages", "flush.messages", LONG_MAX),
    ("flush_ms", "flush.ms", LONG_MAX),
    ("retention_bytes", "retention.bytes", -1),
    ("retention_ms", "retention.ms", 604_800_000),
    ("file_delete_delay_ms", "file.delete.delay.ms", 60_000),
    ("max_message_bytes", "max.message.bytes", 1_048_588),
    ("timestamp_before_max_ms", "message.timestamp.before.max.ms", LONG_MAX),
    ("timestamp_after_max_ms", "message.timestamp.after.max.ms", LONG_MAX),
    ("producer_expiration_ms", "producer.id.expiration.ms", PRODUCER_EXPIRATION_MS),
    ("decompressed_limit_bytes", "kcli.batch.max.decompressed.bytes", DECOMPRESSED_LIMIT_BYTES),
)


class LogConfig:
    """Sizes are in bytes, times in milliseconds. A retention of -1 means no limit."""

    __slots__ = (
        "compact",
        "compression_level",
        "compression_type",
        "decompressed_limit_bytes",
        "delete",
        "file_delete_delay_ms",
        "flush_messages",
        "flush_ms",
        "header_only_validation",
        "index_interval_bytes",
        "max_index_bytes",
        "max_message_bytes",
        "producer_expiration_ms",
        "retention_bytes",
        "retention_ms",
        "segment_bytes",
        "segment_jitter_ms",
        "segment_ms",
        "timestamp_after_max_ms",
        "timestamp_before_max_ms",
        "timestamp_type",
    )

    segment_bytes: int
    segment_ms: int
    segment_jitter_ms: int
    index_interval_bytes: int
    max_index_bytes: int
    flush_messages: int
    flush_ms: int
    retention_bytes: int
    retention_ms: int
    file_delete_delay_ms: int
    max_message_bytes: int
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    producer_expiration_ms: int
    delete: bool
    compact: bool
    compression_type: int
    compression_level: int
    timestamp_type: int
    header_only_validation: bool
    decompressed_limit_bytes: int

    @classmethod
    def from_properties(cls, properties: Properties) -> LogConfig:
        """Reads Kafka's names. Raises ValueError or KeyError for values that the configuration's validators refuse."""
        config = cls()
        for attribute, name, default in NUMBERS:
            value = properties.get(name)
            setattr(config, attribute, default if value is None else int(str(value)))
        policies = listed(properties.get("cleanup.policy") or "delete")
        config.delete = "delete" in policies
        config.compact = "compact" in policies
        codec = str(properties.get("compression.type") or "producer")
        config.compression_type = CODECS[codec]
        level = properties.get(f"compression.{codec}.level")
        config.compression_level = (
            INT_MIN if level is None or (codec, int(str(level))) == ("gzip", -1) else int(str(level))
        )
        config.timestamp_type = TIMESTAMP_TYPES[str(properties.get("message.timestamp.type") or "CreateTime")]
        config.header_only_validation = str(properties.get("log.validation.header.only")).lower() == "true"
        return config


def listed(value: object) -> tuple[str, ...]:
    """A list value, given as a list, a tuple or comma-separated text, as a tuple."""
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(","))
    assert isinstance(value, (tuple, list))
    return tuple(value)
