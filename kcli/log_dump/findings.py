"""Damage in the files, collected while they are read and reported at the end."""

from __future__ import annotations


class Findings:
    """Pairs of numbers by file, in the order of the report of Kafka's DumpLogSegments."""

    def __init__(self) -> None:
        self.index_mismatches: dict[str, list[tuple[int, int]]] = {}
        self.time_mismatches: dict[str, list[tuple[int, int]]] = {}
        self.time_out_of_order: dict[str, list[tuple[int, int]]] = {}
        self.offsets_not_found: dict[str, list[tuple[int, int]]] = {}
        self.non_consecutive: dict[str, list[tuple[int, int]]] = {}
        self.errors: list[str] = []

    def add(self, kind: dict[str, list[tuple[int, int]]], path: str, pair: tuple[int, int]) -> None:
        kind.setdefault(path, []).append(pair)

    def lines(self) -> list[str]:
        """One line per finding, under a heading per file; empty without findings."""
        lines = list(self.errors)
        for headline, kind, line in (
            ("Mismatches in :{}", self.index_mismatches, "  Index offset: {}, log offset: {}"),
            ("Found timestamp mismatch in :{}", self.time_mismatches, "  Index timestamp: {}, log timestamp: {}"),
            (
                "Found out of order timestamp in :{}",
                self.time_out_of_order,
                "  Index timestamp: {}, Previously indexed timestamp: {}",
            ),
            (
                "The following indexed offsets are not found in the log: {}",
                self.offsets_not_found,
                "  Indexed offset: {}, found log offset: {}",
            ),
            ("Non-consecutive offsets in {}", self.non_consecutive, "  {} is followed by {}"),
        ):
            for path, pairs in kind.items():
                lines.append(headline.format(path))
                lines += [line.format(*pair) for pair in pairs]
        return lines
