"""What `failOnDataLoss` decides about: records that were to be read and are not there."""

from __future__ import annotations

import logging

LOG = logging.getLogger("kspark")


class DataLoss(RuntimeError):
    """Names the partition and what happened to it."""


def report(text: str, *, fails: bool) -> None:
    """Raises DataLoss, or logs a warning and lets the query go on."""
    if fails:
        raise DataLoss(f"{text}. Set failOnDataLoss to false if the query is to go on without them")
    LOG.warning("%s; the query goes on without them, since failOnDataLoss is false", text)
