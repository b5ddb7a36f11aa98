"""Rules over several broker configurations, or beyond the type of one (KafkaConfig.validateValues)."""

from __future__ import annotations

from kcore.config.definition import INT_MAX, ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.config.definition import ConfigValue

    Values = Callable[[str], ConfigValue]

MEBIBYTE = 1 << 20
# A connection id has eight bits for its network thread.
MAX_NETWORK_THREADS = 256
# Number of digits of INT_MAX.
INT_DIGITS = 10
# The last of the codecs of record batches.
ZSTD = 4
ADDRESS_OVERRIDES = "max.connections.per.ip.overrides"
RETENTION_KEYS = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")


def check_values(values: Values) -> None:
    """ConfigException with Kafka's text for the first rule that the values violate. `values` reads by name."""
    _require(_number(values, "log.roll.ms", 1) >= 1, "log.roll.ms must be greater than or equal to 1", "log.roll.ms")
    _require(
        _number(values, "log.roll.jitter.ms", 0) >= 0,
        "log.roll.jitter.ms must be greater than or equal to 0",
        "log.roll.jitter.ms",
    )
    _require(
        _retention(values) != 0,
        "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        *RETENTION_KEYS,
    )
    _check_cleaner(values)
    _check_replication(values)
    _check_offset_commits(values)
    _require(
        _number(values, "max.connections.per.ip", 1) > 0 or bool(values(ADDRESS_OVERRIDES)),
        f"max.connections.per.ip can be set to zero only if {ADDRESS_OVERRIDES} property is set.",
        "max.connections.per.ip",
    )
    _require(
        _number(values, "num.network.threads", 1) <= MAX_NETWORK_THREADS,
        f"num.network.threads must be at most {MAX_NETWORK_THREADS}",
        "num.network.threads",
    )
    _check_address_overrides(values(ADDRESS_OVERRIDES))
    queued, largest = _number(values, "queued.max.request.bytes", -1), _number(values, "socket.request.max.bytes", 1)
    _require(
        queued <= 0 or queued >= largest,
        f"queued.max.request.bytes, {queued}, must be -1 or at least socket.request.max.bytes, {largest}",
        "queued.max.request.bytes",
        "socket.request.max.bytes",
    )


def _check_cleaner(values: Values) -> None:
    memory, threads = _number(values, "log.cleaner.dedupe.buffer.size", 0), _number(values, "log.cleaner.threads", 1)
    _require(
        memory // max(1, threads) > MEBIBYTE,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.threads",
    )


def _check_replication(values: Values) -> None:
    wait_ms = _number(values, "replica.fetch.wait.max.ms", 0)
    _require(
        wait_ms <= _number(values, "replica.socket.timeout.ms", 0),
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket "
        "timeouts",
        "replica.socket.timeout.ms",
        "replica.fetch.wait.max.ms",
    )
    _require(
        wait_ms <= _number(values, "replica.lag.time.max.ms", 0),
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent "
        "changes in ISR",
        "replica.fetch.wait.max.ms",
        "replica.lag.time.max.ms",
    )


def _check_offset_commits(values: Values) -> None:
    acks = _number(values, "offsets.commit.required.acks", -1)
    _require(
        -1 <= acks <= _number(values, "offsets.topic.replication.factor", 1),
        "offsets.commit.required.acks must be greater or equal -1 and less or equal to "
        "offsets.topic.replication.factor",
        "offsets.commit.required.acks",
        "offsets.topic.replication.factor",
    )
    codec = _number(values, "offsets.topic.compression.codec", 0)
    _require(
        0 <= codec <= ZSTD,
        f"offsets.topic.compression.codec: Unknown compression type id: {codec}",
        "offsets.topic.compression.codec",
    )


def _check_address_overrides(text: ConfigValue) -> None:
    assert text is None or isinstance(text, str)
    for item in (text or "").split(","):
        if not item.strip():
            continue
        address, colon, count = item.strip().rpartition(":")
        if not colon:
            raise ConfigException(
                f"Error parsing configuration property '{ADDRESS_OVERRIDES}': {item} is not ADDRESS:COUNT",
                ADDRESS_OVERRIDES,
            )
        # The length is checked first: Python refuses to parse thousands of digits.
        digits = count.strip().lstrip("0") or count.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) <= INT_DIGITS and int(digits) <= INT_MAX):
            raise ConfigException(f'For input string: "{count}"', ADDRESS_OVERRIDES)
        if any(character.isspace() for character in address.strip()):
            raise ConfigException(f"{ADDRESS_OVERRIDES} contains invalid addresses : {address}", ADDRESS_OVERRIDES)


def _retention(values: Values) -> int:
    """The retention in the unit in which it is set: only 0 matters here."""
    for name in RETENTION_KEYS:
        value = values(name)
        if value is not None:
            assert isinstance(value, int)
            return value
    return -1


def _number(values: Values, name: str, if_null: int) -> int:
    value = values(name)
    assert value is None or isinstance(value, int), name
    return if_null if value is None else value


def _require(holds: bool, complaint: str, *names: str) -> None:
    if not holds:
        raise ConfigException(f"requirement failed: {complaint}", *names)
