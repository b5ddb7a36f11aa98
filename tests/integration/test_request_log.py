"""The request log of a broker, turned on and off in every way there is, against the requests of a raw client."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,  # type: ignore[attr-defined]
    ConfigEntry,  # type: ignore[attr-defined]
    ConfigResource,
    ResourceType,  # type: ignore[attr-defined]
)

from kcore.protocol import apis
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

SUMMARY = re.compile(
    r"DEBUG \[kafka.request.logger\] Completed request: (\w+) v(\d+) correlation id (\d+) of client '([^']*)' at "
    r"127\.0\.0\.1:\d+: (\d+) bytes in, (\d+) bytes out, ([\d.]+) ms"
)
FULL = re.compile(r"\[kafka.request.logger\] Completed request: (\{.*\})")
TIMES = ("requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "responseQueueTimeMs", "sendTimeMs")


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "data") as broker:
        yield broker


def ask(broker: BrokerProcess, client_id: str | None, version: int = 3) -> int:
    """One ApiVersions request; its correlation id."""
    with RawClient(broker.port, client_id=client_id) as client:
        client.request(apis.API_VERSIONS, version, {})
        return client.correlation_id


def alter(broker: BrokerProcess, name: str, value: str | None) -> None:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(name, value or "", incremental_operation=operation)
    resource = ConfigResource(ResourceType.BROKER, str(broker.started["broker_id"]), incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server, "client.id": "admin"})
    admin.incremental_alter_configs([resource])[resource].result(30)


def set_logger(broker: BrokerProcess, level: str) -> None:
    """confluent-kafka does not know loggers as resources."""
    config = {"name": "kafka.request.logger", "config_operation": 0, "value": level}
    resource = {"resource_type": 8, "resource_name": str(broker.started["broker_id"]), "configs": [config]}
    with RawClient(broker.port) as client:
        answer = client.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
    assert [response.error_code for response in answer.responses] == [0]


def test_a_summary_names_client_request_and_time(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", {"kcli.request.log": "summary"}) as broker:
        with RawClient(broker.port, client_id="somebody") as client:
            client.request(apis.API_VERSIONS, 3, {"client_software_name": "test", "client_software_version": "1"})
            client.request(apis.METADATA, 9, {"topics": None})
        assert broker.stop() == 0
        found = [match.groups() for match in SUMMARY.finditer(broker.log())]
        assert [row[:4] for row in found] == [
            ("ApiVersions", "3", "1", "somebody"),
            ("Metadata", "9", "2", "somebody"),
        ]
        assert all(int(size) > 10 for row in found for size in row[4:6])
        assert all(0 < float(row[6]) < 60_000 for row in found)
        broker.start()


@pytest.mark.parametrize("fast_path", ["true", "false"])
def test_everything_as_json(tmp_path: Path, fast_path: str) -> None:
    overrides = {"kcli.request.log": "full", "kcli.fast.path.enable": fast_path}
    with BrokerProcess(tmp_path / "data", overrides) as broker:
        with RawClient(broker.port, client_id="x" * 100) as client:
            client.request(apis.METADATA, 9, {"topics": [{"name": "t"}], "allow_auto_topic_creation": True})
            fetch = {"replica_id": -1, "max_wait_ms": 200, "min_bytes": 1, "max_bytes": 1000, "session_epoch": -1}
            wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000, "current_leader_epoch": -1}
            client.request(apis.FETCH, 11, {**fetch, "topics": [{"topic": "t", "partitions": [wanted]}]})
        assert broker.stop() == 0
        requests = [json.loads(match[1]) for match in FULL.finditer(broker.log())]
        broker.start()
    assert [request["requestHeader"]["requestApiKeyName"] for request in requests] == ["Metadata", "Fetch"]
    waited = requests[1]
    # Of a long client id the log keeps the beginning.
    assert waited["requestHeader"] == {
        "requestApiKey": 1,
        "requestApiKeyName": "Fetch",
        "requestApiVersion": 11,
        "correlationId": 2,
        "clientId": "x" * 64,
    }
    assert waited["remoteTimeMs"] >= 150
    assert waited["totalTimeMs"] == pytest.approx(sum(waited[name] for name in TIMES), abs=0.1)
    assert (waited["listener"], waited["securityProtocol"]) == ("PLAINTEXT", "PLAINTEXT")


def test_slow_requests_alone_are_warned_of(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", {"kcli.request.log.slow.ms": "100"}) as broker:
        with RawClient(broker.port) as client:
            client.request(apis.METADATA, 9, {"topics": [{"name": "t"}], "allow_auto_topic_creation": True})
            fetch = {"replica_id": -1, "max_wait_ms": 300, "min_bytes": 1, "max_bytes": 1000, "session_epoch": -1}
            wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000, "current_leader_epoch": -1}
            client.request(apis.FETCH, 11, {**fetch, "topics": [{"topic": "t", "partitions": [wanted]}]})
        broker.wait_for_log("WARN [kafka.request.logger] Slow request: Fetch v11 correlation id 2 of client 'raw'")
        assert "Completed request" not in broker.log()


def test_the_configuration_turns_it_on_and_off_while_the_broker_runs(quiet: BrokerProcess) -> None:
    ask(quiet, "before")
    alter(quiet, "kcli.request.log", "summary")
    ask(quiet, "meanwhile")
    quiet.wait_for_log("of client 'meanwhile'")
    alter(quiet, "kcli.request.log", None)
    ask(quiet, "after")
    assert quiet.stop() == 0
    assert "of client 'before'" not in quiet.log()
    assert "of client 'after'" not in quiet.log()
    quiet.start()


def test_kafkas_logger_turns_it_on_too(quiet: BrokerProcess) -> None:
    set_logger(quiet, "DEBUG")
    ask(quiet, "short")
    quiet.wait_for_log("of client 'short'")
    set_logger(quiet, "TRACE")
    ask(quiet, "long")
    quiet.wait_for_log('"clientId":"long"')


def test_a_null_client_id_and_one_that_is_no_text(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", {"kcli.request.log": "summary"}) as broker:
        ask(broker, None)
        broker.wait_for_log("of client None at")
        with RawClient(broker.port) as client:
            client.send_frame(b"\0\x12\0\0\0\0\0\7\0\2\xff\n")
            assert client.receive_frame() is not None
        broker.wait_for_log(r"correlation id 7 of client '�\n' at")


def test_what_the_log_cannot_keep_up_with_is_left_out(tmp_path: Path) -> None:
    overrides = {"kcli.request.log": "summary", "kcli.request.log.queue.size": "2", "num.network.threads": "1"}
    with BrokerProcess(tmp_path / "data", overrides) as broker:
        with RawClient(broker.port) as client:
            # Answered in one go, between two looks of the log's thread.
            client.socket.sendall(
                b"".join(b"\0\0\0\x0a\0\x12\0\0\0\0\0" + bytes([n]) + b"\xff\xff" for n in range(100))
            )
            for _ in range(100):
                client.receive_frame()
        assert broker.stop() == 0
        logged = len(SUMMARY.findall(broker.log().replace("of client None", "of client ''")))
        [left_out] = re.findall(
            r"(\d+) requests were not logged: kcli.request.log.queue.size is too small", broker.log()
        )
        assert logged + int(left_out) == 100
        broker.start()
