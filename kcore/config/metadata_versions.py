"""The names of metadata versions (Kafka's MetadataVersion): `3.9-IV0`, or `3.9` for the latest of a release."""

from __future__ import annotations

# The number of interim versions (from -IV0 on) of each release. Releases before 0.10 have none, and three numbers.
_PLAIN_RELEASES = ("0.8.0", "0.8.1", "0.8.2", "0.9.0")
_INTERIM_VERSIONS = {
    "0.10.0": 2,
    "0.10.1": 3,
    "0.10.2": 1,
    "0.11.0": 3,
    "1.0": 1,
    "1.1": 1,
    "2.0": 2,
    "2.1": 3,
    "2.2": 2,
    "2.3": 2,
    "2.4": 2,
    "2.5": 1,
    "2.6": 1,
    "2.7": 3,
    "2.8": 2,
    "3.0": 2,
    "3.1": 1,
    "3.2": 1,
    "3.3": 4,
    "3.4": 1,
    "3.5": 3,
    "3.6": 3,
    "3.7": 5,
    "3.8": 1,
    "3.9": 1,
    "4.0": 2,
}


def names() -> list[str]:
    """All full names, oldest first."""
    interim = [f"{release}-IV{number}" for release, count in _INTERIM_VERSIONS.items() for number in range(count)]
    return [*_PLAIN_RELEASES, *interim]


def is_version(text: str) -> bool:
    """Whether Kafka accepts a text as the name of a version."""
    if text in _PLAIN_RELEASES or text in names():
        return True
    numbers = text.split("-")[0].split(".")
    release = ".".join(numbers[: 3 if numbers[0] == "0" else 2])
    return "-" not in text and (release in _INTERIM_VERSIONS or release in _PLAIN_RELEASES)
