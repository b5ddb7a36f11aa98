"""What `failOnDataLoss` decides about: records that were to be read and are not there."""

from __future__ import annotations

import logging

LOG = logging.getLogger("kspark")


class DataLoss(RuntimeError):
    """Names the partition and what happened to it."""


def report(text: str, *, fails: bool) -> None:
    """Raises DataLoss, or logs a warning, and the query continues."""
    if fails:
        raise DataLoss(f"{text}. To continue without these records, set failOnDataLoss to false")
    LOG.warning("%s. The query continues without these records, because failOnDataLoss is false", text)
