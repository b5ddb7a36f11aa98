"""ProducerIdRequest: gets the producer id of an idempotent producer, and a new one when its epochs are used up."""

from __future__ import annotations

from kcore.client.clock import now_ms
from kcore.errors import by_code
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.config.client_config import ProducerConfig
    from kcore.client.errors import ClientError
    from kcore.client.network.requester import Requester
    from kcore.client.producer.sender_control import SenderControl
    from kcore.protocol.message import Message


class ProducerIdRequest:
    """Retriable failures are repeated after `retry.backoff.ms`, which doubles each time."""

    def __init__(self, requester: Requester, config: ProducerConfig) -> None:
        self._requester = requester
        self._timeout_ms: int = config["transaction.timeout.ms"]
        self._backoff_ms: float = config["retry.backoff.ms"]
        self._backoff_max_ms: float = config["retry.backoff.max.ms"]
        self._is_wanted = True
        self._is_asked = False
        self._failures = 0
        self._not_before_ms = 0.0

    def want(self) -> None:
        self._is_wanted = True

    def wait_ms(self) -> float:
        """Milliseconds until the next request."""
        if not self._is_wanted or self._is_asked:
            return float("inf")
        return max(0.0, self._not_before_ms - now_ms())

    def turn(self, control: SenderControl) -> None:
        if self.wait_ms() > 0:
            return
        self._is_asked = True

        def on_response(response: Message | None, error: ClientError | None) -> None:
            self._take(control, response, error)

        fields = {"transactional_id": None, "transaction_timeout_ms": self._timeout_ms}
        self._requester.send(None, apis.INIT_PRODUCER_ID, fields, on_response)

    def _take(self, control: SenderControl, response: Message | None, error: ClientError | None) -> None:
        self._is_asked = False
        if response is not None and response.error_code == 0:
            self._is_wanted = False
            self._failures = 0
            control.set_producer_id(response.producer_id, response.producer_epoch)
        elif response is not None and not by_code(response.error_code).retriable:
            self._is_wanted = False
            control.fail(response.error_code, True)
        elif error is not None and not error.retriable:
            # The broker is too old for InitProducerId.
            self._is_wanted = False
            control.fail(UNSUPPORTED_VERSION, True)
        else:
            pause_ms = min(self._backoff_ms * 2.0 ** min(self._failures, 20), self._backoff_max_ms)
            self._not_before_ms = now_ms() + pause_ms
            self._failures += 1


UNSUPPORTED_VERSION = 35
