"""Timers of a member under the classic protocol (Kafka's Heartbeat).

There are three: the next heartbeat, after `heartbeat.interval.ms`; the end of the session, `session.timeout.ms` after
the last response of the coordinator; and the application's next call of `poll`, within `max.poll.interval.ms`. If that
is exceeded, the member's partitions are assigned to others.
"""

from __future__ import annotations


class Heartbeat:
    def __init__(self, interval_ms: float, session_timeout_ms: float, max_poll_interval_ms: float) -> None:
        self._interval_ms = interval_ms
        self._session_timeout_ms = session_timeout_ms
        self._max_poll_interval_ms = max_poll_interval_ms
        self.is_in_flight = False
        self.due_ms = 0.0
        self.session_ends_ms = 0.0
        self.poll_due_ms = 0.0

    def start(self, now_ms: float) -> None:
        """Restart the heartbeat and session timers after a response of the coordinator."""
        self.due_ms = now_ms + self._interval_ms
        self.session_ends_ms = now_ms + self._session_timeout_ms

    def polled(self, now_ms: float) -> None:
        self.poll_due_ms = now_ms + self._max_poll_interval_ms

    def sent(self, now_ms: float) -> None:
        self.is_in_flight = True
        self.due_ms = now_ms + self._interval_ms

    def received(self, now_ms: float) -> None:
        self.is_in_flight = False
        self.session_ends_ms = now_ms + self._session_timeout_ms

    def failed(self, retry_ms: float) -> None:
        self.is_in_flight = False
        self.due_ms = retry_ms

    def is_due(self, now_ms: float) -> bool:
        return not self.is_in_flight and now_ms >= self.due_ms

    def has_session_ended(self, now_ms: float) -> bool:
        return now_ms >= self.session_ends_ms

    def is_poll_overdue(self, now_ms: float) -> bool:
        return now_ms >= self.poll_due_ms
