"""Applies `failOnDataLoss` when records that should be read no longer exist."""

from __future__ import annotations

import logging

LOG = logging.getLogger("kspark")


class DataLoss(RuntimeError):
    """Records are missing. The message names the partition and the reason."""


def report(text: str, *, fails: bool) -> None:
    """Raise DataLoss if `fails`; otherwise log a warning."""
    if fails:
        raise DataLoss(f"{text}. To continue without these records, set failOnDataLoss to false")
    LOG.warning("%s. The query continues without these records, because failOnDataLoss is false", text)
