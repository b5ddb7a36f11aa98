"""The request log: a line for every answered request, or only for slow ones (Kafka's `kafka.request.logger`).

    kcli.request.log=summary   one short line: API, client, sizes, time
    kcli.request.log=full      all details, as one JSON object with Kafka's names
    kcli.request.log.slow.ms   requests that took at least this long are logged as warnings, independently of the rest

As in Kafka, the logger `kafka.request.logger` enables it too: DEBUG for summaries, TRACE for all details. Both settings
may change while the broker runs. The more detailed one applies.

Cost: processors put finished requests into bounded rings (kcore/network/request_log.pyx). One thread writes them every
INTERVAL_S; it runs only while logging is on. Requests that do not fit into the rings are counted and not logged.
"""

from __future__ import annotations

import threading

from kcore.logger import DEBUG, LOGGERS, TRACE, WARN, get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcore.config.broker import BrokerConfig
    from kcore.config.listeners import Endpoint
    from kcore.network.request_log import LoggedRequest, RequestRing

NAME = "kafka.request.logger"
OFF, SUMMARY, FULL = "off", "summary", "full"
# New network threads have new rings, which must be configured too.
KEYS = ("kcli.request.log", "kcli.request.log.slow.ms", "num.network.threads")
INTERVAL_S = 0.1


class RequestLog:
    """The thread of the request log. `rings` returns the rings of the current processors.

    `start` follows the configuration; `stop` writes the remaining requests.
    """

    __slots__ = (
        "_config",
        "_listeners",
        "_lock",
        "_lost",
        "_rings",
        "_slow_ms",
        "_stopping",
        "_style",
        "_thread",
        "_wake",
    )

    def __init__(
        self, config: BrokerConfig, rings: Callable[[], Sequence[RequestRing]], listeners: Sequence[Endpoint]
    ) -> None:
        self._config = config
        self._rings = rings
        self._listeners = listeners
        self._style = OFF
        self._slow_ms = 0
        self._lost = 0
        self._stopping = False
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Subscribes to changes, and starts logging if configured."""
        logger = get_logger(NAME)
        if logger.own_level is None:
            # As in Kafka's default configuration: the level of the root logger does not enable the request log.
            LOGGERS.set_level(NAME, WARN)
        LOGGERS.on_change(self.reconfigure)
        self._config.on_change(KEYS, self.reconfigure)
        self.reconfigure()

    def stop(self) -> None:
        """Stops the thread after it has written all finished requests."""
        LOGGERS.forget(self.reconfigure)
        with self._lock:
            self._stopping = True
            thread = self._thread
        self._wake.set()
        if thread is not None:
            thread.join()
            self._write_all()

    def reconfigure(self) -> None:
        """Applies the configuration and the logger's level."""
        level = get_logger(NAME).level
        style = str(self._config["kcli.request.log"])
        if level <= TRACE or style == FULL:
            style = FULL
        elif level <= DEBUG:
            style = SUMMARY
        with self._lock:
            self._style = style
            self._slow_ms = max(0, self._config.number("kcli.request.log.slow.ms"))
            is_on = style != OFF or self._slow_ms > 0
            if is_on or self._thread is not None:
                for ring in self._rings():
                    ring.configure(self._config.number("kcli.request.log.queue.size"), style != OFF, self._slow_ms)
            if is_on and self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name="kafka-request-log", daemon=True)
                self._thread.start()
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._write_all()
            with self._lock:
                if self._stopping or (self._style == OFF and self._slow_ms == 0):
                    # A new thread may read the rings from here on.
                    self._thread = None
                    return
            self._wake.wait(INTERVAL_S)
            self._wake.clear()

    def _write_all(self) -> None:
        logger = get_logger(NAME)
        for ring in self._rings():
            for request in ring.take():
                if 0 < self._slow_ms <= request.total_ms:
                    logger.write("WARN", f"Slow request: {self._describe(request)}")
                elif self._style != OFF:
                    logger.write("DEBUG", f"Completed request: {self._describe(request)}")
        lost = sum(ring.lost_requests for ring in self._rings())
        if lost > self._lost:
            left_out, self._lost = lost - self._lost, lost
            logger.write("WARN", f"{left_out} requests were not logged: kcli.request.log.queue.size is too small")

    def _describe(self, request: LoggedRequest) -> str:
        return full(request, self._listeners[request.listener]) if self._style == FULL else summary(request)


def summary(request: LoggedRequest) -> str:
    """A request as a short line."""
    return (
        f"{api_name(request)} v{request.api_version} correlation id {request.correlation_id} of client "
        f"{request.client_id!r} at {request.client}: {request.request_bytes} bytes in, "
        f"{request.response_bytes} bytes out, {request.total_ms} ms"
    )


def full(request: LoggedRequest, listener: Endpoint) -> str:
    """A request as JSON, with the names of Kafka's RequestConvertToJson."""
    import json

    return json.dumps(
        {
            "requestHeader": {
                "requestApiKey": request.api_key,
                "requestApiKeyName": api_name(request),
                "requestApiVersion": request.api_version,
                "correlationId": request.correlation_id,
                "clientId": request.client_id,
            },
            "connection": f"{request.local}-{request.client}-{request.connection}",
            "totalTimeMs": request.total_ms,
            "requestQueueTimeMs": request.queue_ms,
            "localTimeMs": request.local_ms,
            "remoteTimeMs": request.remote_ms,
            "throttleTimeMs": request.throttle_ms,
            "responseQueueTimeMs": request.response_queue_ms,
            "sendTimeMs": request.send_ms,
            "requestSizeBytes": request.request_bytes,
            "responseSizeBytes": request.response_bytes,
            "securityProtocol": listener.security_protocol,
            "principal": "User:ANONYMOUS",
            "listener": listener.name,
        },
        separators=(",", ":"),
    )


def api_name(request: LoggedRequest) -> str:
    """The API's name, or its key if the API is unknown."""
    from kcore.protocol.apis import BY_KEY

    api = BY_KEY.get(request.api_key)
    return str(request.api_key) if api is None else api.name
