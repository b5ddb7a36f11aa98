"""What every request goes through before and after its handler: versions, malformed bytes, failures, order."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kcore import errors, logger
from kcore.config.broker import BrokerConfig
from kcore.network.request_channel import RequestChannel
from kcore.protocol import apis
from kcore.protocol.headers import encode_request
from kcore.server import apis as served
from kcore.server.broker import Broker
from kcore.server.request_handler import RequestHandlerPool
from tests.raw_client import RawClient

UNSUPPORTED_VERSION = 35
INVALID_REQUEST = 42


@pytest.fixture
def log_lines() -> Iterator[io.StringIO]:
    """What the broker logs meanwhile."""
    stream = io.StringIO()
    logger.set_stream(stream)
    yield stream
    logger.set_stream(None)


def frame(key: int, version: int, body: bytes = b"", client_id: bytes = b"stranger") -> bytes:
    """A request of any key and version, known or not."""
    return (
        key.to_bytes(2, "big")
        + version.to_bytes(2, "big")
        + (77).to_bytes(4, "big")
        + len(client_id).to_bytes(2, "big")
        + client_id
        + body
    )


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_what_is_served(client: RawClient, version: int) -> None:
    fields = {"client_software_name": "raw-client", "client_software_version": "1.0"} if version >= 3 else {}
    response = client.request(apis.API_VERSIONS, version, fields)
    assert response.error_code == 0
    ranges = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}
    assert ranges[0] == (0, 11)
    assert ranges[1] == (4, 17)
    assert ranges[3] == (0, 13)
    assert ranges[18] == (0, 4)
    assert set(ranges) == set(served.BY_KEY)
    assert not {71, 72} & set(ranges), "telemetry is not real, so it is not advertised"


@pytest.mark.parametrize("version", [5, 99, 32767])
def test_api_versions_of_an_unknown_version_is_answered_in_version_0(client: RawClient, version: int) -> None:
    client.send_frame(frame(18, version, b"\x00\x01\x02"))
    payload = client.receive_frame()
    assert payload is not None
    assert payload == (
        (77).to_bytes(4, "big")
        + UNSUPPORTED_VERSION.to_bytes(2, "big")
        + (1).to_bytes(4, "big")
        + bytes([0, 18, 0, 0, 0, 4])
    )
    # The connection stays good for a version that is served.
    assert client.request(apis.API_VERSIONS, 0, {}).error_code == 0


@pytest.mark.parametrize("name", ["", "-librdkafka", "lib rdkafka", "x\n"])
def test_a_client_software_name_that_is_none_is_an_invalid_request(client: RawClient, name: str) -> None:
    response = client.request(apis.API_VERSIONS, 3, {"client_software_name": name, "client_software_version": "1.0"})
    assert response.error_code == INVALID_REQUEST


@pytest.mark.parametrize(
    ("key", "version"),
    [(71, 0), (6, 0), (127, 0), (128, 0), (999, 3), (0, 2), (0, 12), (1, 3), (3, 14), (2, 0), (60, 3)],
)
def test_what_is_not_served_closes_the_connection_with_one_warning(
    broker: Broker, client: RawClient, log_lines: io.StringIO, key: int, version: int
) -> None:
    name = f"stranger-{key}-{version}-{broker.config['kcli.fast.path.enable']}"
    client.send_frame(frame(key, version, b"\0", name.encode()))
    assert client.is_closed_by_broker()
    warnings = [line for line in log_lines.getvalue().splitlines() if name in line]
    assert len(warnings) == 1
    assert "WARN" in warnings[0]
    assert f"key {key} version {version}" in warnings[0]


@pytest.mark.parametrize(
    ("key", "version", "body"),
    [
        (3, 1, b"\x7f\xff\xff\xff"),
        (3, 12, b"\x00\xff\xff\xff\xff\xff"),
        (19, 5, b""),
        (0, 3, b"\xff\xff\x00"),
        (1, 4, b"\x00\x00"),
    ],
)
def test_malformed_bytes_close_the_connection_and_nothing_else(
    broker: Broker, client: RawClient, key: int, version: int, body: bytes
) -> None:
    client.send_frame(frame(key, version, body))
    assert client.is_closed_by_broker()
    with RawClient(broker.bound_listeners[0].port) as other:
        assert other.request(apis.API_VERSIONS, 0, {}).error_code == 0


def test_bytes_behind_a_request_are_ignored(client: RawClient) -> None:
    """As Kafka does; librdkafka 2.x sends some behind Metadata 13."""
    request = encode_request(apis.METADATA, 13, 5, "raw", {"topics": []})
    client.send_frame(request + b"\x00\x01\x02")
    answer = client.receive_frame()
    assert answer is not None
    assert answer[:4] == (5).to_bytes(4, "big")


def test_responses_come_in_the_order_of_requests(client: RawClient) -> None:
    client.create_topic("order", 1)
    payload = b""
    for number in range(1, 61):
        api, version = (apis.METADATA, 1) if number % 3 else (apis.API_VERSIONS, 0)
        fields = {"topics": None} if api is apis.METADATA else {}
        request = encode_request(api, version, number, "pipeline", fields)
        payload += len(request).to_bytes(4, "big") + request
    client.socket.sendall(payload)
    for number in range(1, 61):
        answer = client.receive_frame()
        assert answer is not None
        assert int.from_bytes(answer[:4], "big") == number


class FailingHandler(SimpleNamespace):
    """A handler module whose functions raise."""


def failing(handle_error: Exception, response_error: Exception | None = None) -> FailingHandler:
    def handle(context: object, request: object) -> None:
        raise handle_error

    def error_response(context: object, request: object, error: errors.KafkaError) -> dict[str, object]:
        if response_error is not None:
            raise response_error
        return {"error_code": error.code, "cluster_id": "", "brokers": []}

    return FailingHandler(handle=handle, error_response=error_response)


@pytest.mark.parametrize(
    ("kind", "text", "code"), [(RuntimeError, "boom", -1), (KeyError, "x", -1), (errors.PolicyViolationError, "no", 44)]
)
def test_a_failing_handler_is_answered_in_the_shape_of_its_api(
    client: RawClient,
    monkeypatch: pytest.MonkeyPatch,
    log_lines: io.StringIO,
    kind: type[Exception],
    text: str,
    code: int,
) -> None:
    # Made here: as a parameter it would live, and through its traceback the broker, until the end of the session.
    monkeypatch.setattr(served.BY_KEY[60], "_module", failing(kind(text)))
    response = client.request(apis.DESCRIBE_CLUSTER, 0, {"include_cluster_authorized_operations": False})
    assert response.error_code == code
    assert ("boom" in log_lines.getvalue()) == (text == "boom")
    monkeypatch.undo()
    response = client.request(apis.DESCRIBE_CLUSTER, 0, {"include_cluster_authorized_operations": False})
    assert response.error_code == 0, "the connection is not left mute"


def test_a_failure_that_cannot_be_answered_closes_the_connection(
    client: RawClient, monkeypatch: pytest.MonkeyPatch, log_lines: io.StringIO
) -> None:
    monkeypatch.setattr(served.BY_KEY[60], "_module", failing(RuntimeError("first"), RuntimeError("second")))
    client.send(apis.DESCRIBE_CLUSTER, 0, {"include_cluster_authorized_operations": False})
    assert client.is_closed_by_broker()
    assert "second" in log_lines.getvalue()


def test_a_response_that_cannot_be_encoded_closes_the_connection(
    client: RawClient, monkeypatch: pytest.MonkeyPatch, log_lines: io.StringIO
) -> None:
    def handle(context: object, request: object) -> dict[str, object]:
        return {"cluster_id": 7, "brokers": [{}]}

    monkeypatch.setattr(served.BY_KEY[60], "_module", FailingHandler(handle=handle))
    client.send(apis.DESCRIBE_CLUSTER, 0, {"include_cluster_authorized_operations": False})
    assert client.is_closed_by_broker()
    assert "cannot be encoded" in log_lines.getvalue()


def test_a_handler_thread_that_the_system_refuses_is_none_of_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the broker could not wait for its handlers when it stops, and would close logs under their hands."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    channel = RequestChannel()
    pool = RequestHandlerPool(SimpleNamespace(config=BrokerConfig({})), channel, 1)
    pool.start()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            pool.resize(2)
    pool.resize(2)
    channel.close()
    pool.join()
