"""The names of the counters of a topic, in the order of the structure in topic_counters.pxd."""

from __future__ import annotations

TOPIC_COUNTERS = (
    "messages_in",
    "bytes_in",
    "bytes_rejected",
    "produce_requests",
    "failed_produce_requests",
    "converted_messages",
    "fetch_requests",
    "failed_fetch_requests",
    "bytes_out",
)
