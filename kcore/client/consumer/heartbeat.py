"""When a member of a classic group says that it lives, and when it is taken for dead (Kafka's Heartbeat).

Three clocks: heartbeats every `heartbeat.interval.ms`; the session, which ends when nothing was heard of the
coordinator for `session.timeout.ms`; and the application's own, which has to call `poll` every `max.poll.interval.ms`,
or else its partitions go to somebody who does.
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
        """The coordinator has just been heard of."""
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
