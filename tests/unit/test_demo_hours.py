"""What the demo's pipeline is held against, and that it is told when it is otherwise."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from kcli.demonstration.flights import AIRLINES_FILE, FLIGHTS_FILE
from kcli.demonstration.hours import Delays, by_hour_of_day, closed, hours_by_pandas, require_equal
from kcli.failures import Failure

# 10:00 and 11:00 in London, two days apart; New York is five hours behind.
FIRST, SECOND = 1357034400, 1357210800
FILE = """dep_delay,carrier,time_hour
-3,AA,2013-01-01T10:00:00Z
NA,AA,2013-01-01T10:00:00Z
20,AA,2013-01-01T10:00:00Z
NA,UA,2013-01-01T10:00:00Z
7,UA,2013-01-03T11:00:00Z
"""
HOURS = {
    (FIRST, "American"): Delays(3, 2, 17),
    (FIRST, "United"): Delays(1, 0, 0),
    (SECOND, "United"): Delays(1, 1, 7),
}


def test_pandas_sums_up_the_files(tmp_path: Path) -> None:
    (tmp_path / AIRLINES_FILE).write_text("carrier,name\nAA,American\nUA,United\n")
    with zipfile.ZipFile(tmp_path / FLIGHTS_FILE, "w") as archive:
        archive.writestr("flights.csv", FILE)
    assert hours_by_pandas(str(tmp_path)) == HOURS


def test_an_hour_is_closed_when_the_watermark_has_passed_it() -> None:
    assert closed(HOURS).keys() == {(FIRST, "American"), (FIRST, "United")}
    day = {(FIRST, "American"): Delays(1, 1, 1), (FIRST + 25 * 3600, "American"): Delays(1, 1, 1)}
    assert list(closed(day)) == [(FIRST, "American")]
    nearly = {(FIRST, "American"): Delays(1, 1, 1), (FIRST + 24 * 3600, "American"): Delays(1, 1, 1)}
    assert closed(nearly) == {}


@pytest.mark.parametrize(
    "found",
    [
        {**HOURS, (FIRST, "American"): Delays(3, 2, 18)},
        {key: delays for key, delays in HOURS.items() if key != (FIRST, "American")},
        {**HOURS, (FIRST, "Alaska"): Delays(1, 1, 1)},
    ],
)
def test_one_that_is_otherwise_is_named(found: dict[tuple[int, str], Delays]) -> None:
    with pytest.raises(Failure, match=r"the topic: A\w+ at 201\S+ is .*; expected "):
        require_equal(found, HOURS, "the topic")
    require_equal(dict(HOURS), HOURS, "the topic")


def test_hours_of_the_day_are_those_of_new_york() -> None:
    assert by_hour_of_day(HOURS) == {5: Delays(4, 2, 17), 6: Delays(1, 1, 7)}
