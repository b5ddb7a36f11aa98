"""`kcli dump-log` and Apache Kafka's own dump tool on the same files, written through a broker by every client.

Small segments and dense indexes; all codecs, the broker's clock instead of the producer's, and the broker's codec
instead of the producer's. The lines are the same, they tell exactly the records that were written, and no restart
changes what stands in a log.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.broker_process import BrokerProcess
from tests.cli.conftest import run_kcli
from tests.interop import scenarios
from tests.interop.consumer import TIMEOUT_S
from tests.interop.java_tools import VERSIONS, VERSIONS_BY_SIZE, JavaTools
from tests.interop.series import Series

pytestmark = pytest.mark.needs("java", "mvn")

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = 1_500
SMALL = {"segment.bytes": "40000", "index.interval.bytes": "1024"}
RECORD_LINE = re.compile(r"^\| offset: (\d+) (?:Create|LogAppend)Time: (\d+) .* payload: (.*)$", re.MULTILINE)


class Written:
    """A topic of one partition, what it was made with, and what one producer wrote to it."""

    def __init__(self, client: str, codec: str, config: dict[str, str], shown_codec: str) -> None:
        self.client = client
        self.codec = codec
        self.config = config
        self.shown_codec = shown_codec
        self.topic = "-".join(["dumped", client, codec, *config.values()]).lower()
        self.series = Series(client, RECORDS, int(time.time() * 1000) - RECORDS)

    def settings(self) -> dict[str, object]:
        if self.client == "confluent-kafka":
            # librdkafka's batches of a million bytes would not fit into a segment.
            return {"compression.type": self.codec, "batch.size": 8_000, "enable.idempotence": True}
        return {} if self.codec == "none" else {"compression_type": self.codec}


def everything() -> list[Written]:
    made = [Written(client, codec, {}, codec) for client in scenarios.CLIENTS for codec in CODECS]
    for number, client in enumerate(scenarios.CLIENTS):
        made.append(Written(client, CODECS[number], {"message.timestamp.type": "LogAppendTime"}, CODECS[number]))
        made.append(Written(client, CODECS[number], {"compression.type": "zstd"}, "zstd"))
        made.append(Written(client, CODECS[number + 2], {"compression.type": "producer"}, CODECS[number + 2]))
    return made


class Dumped:
    """A broker in which everything is written; it is stopped whenever files are dumped."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        self.written = everything()

    def write(self) -> None:
        server = self.broker.bootstrap_server
        admin = AdminClient({"bootstrap.servers": server})
        topics = [NewTopic(one.topic, 1, 1, config={**SMALL, **one.config}) for one in self.written]
        for future in admin.create_topics(topics).values():
            future.result(TIMEOUT_S)
        for one in self.written:
            scenarios.produce(one.client, server, one.topic, one.series, one.settings())

    def files(self, suffix: str, topic: str | None = None) -> list[Path]:
        """Those that hold something, in the order of topics and offsets."""
        topics = [one.topic for one in self.written if topic in (None, one.topic)]
        found = [path for name in topics for path in sorted((self.broker.data_dir / f"{name}-0").glob(f"*{suffix}"))]
        return [path for path in found if path.stat().st_size]

    def dump(self, files: list[Path], *arguments: str) -> str:
        result = run_kcli("dump-log", "--files", ",".join(map(str, files)), *arguments)
        assert (result.code, result.stderr) == (0, "")
        return result.stdout


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dumped]:
    with BrokerProcess(tmp_path_factory.mktemp("dumped") / "data") as broker:
        dumped = Dumped(broker)
        dumped.write()
        assert broker.stop() == 0
        yield dumped
        broker.start()


def test_it_prints_exactly_what_was_written(dumped: Dumped) -> None:
    for one in dumped.written:
        logs = dumped.files(".log", one.topic)
        assert len(logs) > 1 or one.shown_codec != "none", f"{one.topic} has one segment only"
        text = dumped.dump(logs, "--print-data-log")
        records = RECORD_LINE.findall(text)
        assert [int(offset) for offset, _, _ in records] == list(range(RECORDS)), one.topic
        assert [payload.encode() for _, _, payload in records] == [one.series.value(n) for n in range(RECORDS)]
        shown = set(re.findall(r"compresscodec: (\w+)", text))
        if one.config.get("compression.type") != "zstd":
            shown.discard("none")  # clients leave a batch as it is where compression would make it larger
        assert shown == {one.shown_codec} - {"none"}, one.topic
        assert set(re.findall(r"isvalid: (\w+)", text)) == {"true"}
        if "message.timestamp.type" in one.config:
            assert "CreateTime" not in text
        else:
            assert [int(timestamp) for _, timestamp, _ in records] == [one.series.timestamp(n) for n in range(RECORDS)]


@pytest.mark.parametrize("version", VERSIONS_BY_SIZE)
def test_kafkas_tool_prints_the_same(dumped: Dumped, version: str) -> None:
    tools = JavaTools(version)
    for arguments, suffixes in (
        (("--print-data-log",), (".log",)),
        ((), (".log", ".index", ".timeindex", ".snapshot")),
    ):
        files = [path for suffix in suffixes for path in dumped.files(suffix)]
        assert {path.suffix for path in files} == set(suffixes)
        assert dumped.dump(files, *arguments) == tools.dump(files, *arguments)


def test_restarts_change_nothing_in_a_log(dumped: Dumped) -> None:
    """Indexes are made anew after kill -9 and may have other entries; what they say must hold against the log."""
    logs = dumped.files(".log")
    before = dumped.dump(logs, "--print-data-log")
    for kill in (True, False):
        dumped.broker.start()
        assert dumped.broker.is_running
        if kill:
            dumped.broker.kill()
        else:
            assert dumped.broker.stop() == 0
        assert dumped.files(".log") == logs
        assert dumped.dump(logs, "--print-data-log") == before
        indexes = dumped.files(".index") + dumped.files(".timeindex")
        ours = dumped.dump(indexes)
        assert ours == JavaTools(VERSIONS[-1]).dump(indexes)
