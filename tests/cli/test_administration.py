"""`kcli records`, `get-offsets`, `log-dirs`, `features`, `broker-api-versions`: what they print, and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli, missing_topic


def filled(kcli: Kcli, topic: str, records: int = 10, partitions: int = 1) -> str:
    """A topic whose partition 0 has records, all of the same key."""
    kcli("topics", "create", topic, "--partitions", str(partitions))
    lines = "".join(f"k:{number}\n" for number in range(records))
    options = ("--property", "parse.key=true", "--property", "key.separator=:")
    assert kcli("console-producer", "--topic", topic, *options, stdin=lines).code == 0
    return topic


def offsets_file(directory: Path, *entries: tuple[str, int, int]) -> Path:
    path = directory / "offsets.json"
    rows = [{"topic": topic, "partition": partition, "offset": offset} for topic, partition, offset in entries]
    path.write_text(json.dumps({"partitions": rows, "version": 1}))
    return path


class TestRecords:
    def test_records_are_deleted_and_the_start_is_told(self, kcli: Kcli, tmp_path: Path) -> None:
        topic = filled(kcli, "shortened")
        file = offsets_file(tmp_path, (topic, 0, 4))
        assert kcli("records", "delete", "--offset-json-file", file, "--yes") == (
            0,
            "partition: shortened-0\tlow_watermark: 4\n",
            "",
        )
        assert kcli("get-offsets", "--topic", topic, "--time", "earliest").stdout == "shortened:0:4\n"
        assert kcli("get-offsets", "--topic", topic).stdout == "shortened:0:10\n"

    def test_everything_at_once_from_standard_input(self, kcli: Kcli) -> None:
        topic = filled(kcli, "emptied")
        text = json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": -1}], "version": 1})
        result = kcli("records", "delete", "--offset-json-file", "-", "--yes", "-o", "json", stdin=text)
        assert json.loads(result.stdout) == [{"topic": topic, "partition": 0, "low_watermark": 10}]

    def test_what_fails_is_named_and_the_rest_is_done(self, kcli: Kcli, tmp_path: Path) -> None:
        topic = filled(kcli, "partly", partitions=2)
        file = offsets_file(tmp_path, (topic, 0, 99), (topic, 1, 0))
        result = kcli("records", "delete", "--offset-json-file", file, "--yes")
        assert (result.code, result.stdout) == (1, "partition: partly-1\tlow_watermark: 0\n")
        assert result.stderr.startswith("kcli records delete: partition partly-0: ")
        assert result.stderr.endswith(" (OFFSET_OUT_OF_RANGE)\n")

    def test_what_is_not_there_does_not_keep_the_rest(self, kcli: Kcli, tmp_path: Path) -> None:
        topic = filled(kcli, "beside")
        file = offsets_file(tmp_path, ("never-made", 0, 1), (topic, 0, 2), (topic, 5, 2))
        result = kcli("records", "delete", "--offset-json-file", file, "--yes")
        assert (result.code, result.stdout) == (1, "partition: beside-0\tlow_watermark: 2\n")
        assert result.stderr.splitlines() == [
            f"kcli records delete: {missing_topic('never-made')}",
            "kcli records delete: partition 5 of topic beside: the topic has the partitions 0 to 0",
        ]

    def test_the_plan_is_shown_and_nothing_done_unasked(self, kcli: Kcli, tmp_path: Path) -> None:
        topic = filled(kcli, "kept-records")
        file = offsets_file(tmp_path, (topic, 0, 3), ("other", 1, -1))
        assert kcli("records", "delete", "--offset-json-file", file) == (
            2,
            "",
            "delete from partition kept-records-0: the records before offset 3\n"
            "delete from partition other-1: all records\n"
            "kcli records delete: not a terminal: pass --yes to confirm\n",
        )
        assert kcli("get-offsets", "--topic", topic, "--time", "-2").stdout == "kept-records:0:0\n"

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("{", "not JSON"),
            ('{"version": 2, "partitions": []}', "wrong format"),
            ("{}", '"partitions" must be a list that is not empty'),
            ('{"partitions": [{"topic": "t"}]}', "must have topic, partition and offset"),
            (
                '{"partitions": [{"topic": "t", "partition": true, "offset": 1}]}',
                "must have topic, partition and offset",
            ),
            ('{"partitions": [{"topic": "t", "partition": 0, "offset": -2}]}', "offset -2: must be between"),
            (
                '{"partitions": [%s, %s]}' % (('{"topic": "t", "partition": 0, "offset": 1}',) * 2),
                "partition t-0: given twice; remove one",
            ),
        ],
    )
    def test_a_file_that_makes_no_sense(self, offline: Kcli, tmp_path: Path, text: str, complaint: str) -> None:
        file = tmp_path / "bad.json"
        file.write_text(text)
        result = offline("records", "delete", "--offset-json-file", file, "--yes")
        assert (result.code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert result.stderr.startswith(f"kcli records delete: {file}: ")
        assert complaint in result.stderr


class TestGetOffsets:
    def test_topics_and_partitions_as_kafka_takes_them(self, kcli: Kcli) -> None:
        for name in ("got-a", "got-b"):
            kcli("topics", "create", name, "--partitions", "4")
        every = [f"got-{letter}:{index}:0" for letter in "ab" for index in range(4)]
        for options, expected in (
            (("--topic", "got-.*"), every),
            (("--topic", "got-?"), every),
            (("--topic", "got-a", "--partitions", "1,3"), ["got-a:1:0", "got-a:3:0"]),
            (("--topic-partitions", "got-a:1,got-b:2-"), ["got-a:1:0", "got-b:2:0", "got-b:3:0"]),
            (("--topic-partitions", "got-a:-2,got-b:1-3"), ["got-a:0:0", "got-a:1:0", "got-b:1:0", "got-b:2:0"]),
            (("--topic-partitions", "got-(a|b):3"), ["got-a:3:0", "got-b:3:0"]),
            (("--topic-partitions", "got-a:,got-b:3"), [*every[:4], "got-b:3:0"]),
        ):
            assert kcli("get-offsets", *options) == (0, "".join(f"{line}\n" for line in expected), ""), options

    def test_times(self, kcli: Kcli) -> None:
        topic = filled(kcli, "timed", 5)
        for time, offset in (("latest", 5), ("earliest", 0), ("earliest-local", 0), ("0", 0), ("-1", 5)):
            assert kcli("get-offsets", "--topic", topic, "--time", time).stdout == f"timed:0:{offset}\n"
        far = str(2**62)
        assert kcli("get-offsets", "--topic", topic, "--time", far) == (0, "", "")
        (row,) = json.loads(kcli("get-offsets", "--topic", topic, "--time", far, "-o", "json").stdout)
        assert row == {"topic": topic, "partition": 0, "offset": None, "timestamp": None}
        (row,) = json.loads(kcli("get-offsets", "--topic", topic, "--time", "max-timestamp", "-o", "json").stdout)
        assert row["offset"] is not None
        assert row["timestamp"] > 1_700_000_000_000

    def test_what_is_missing(self, kcli: Kcli) -> None:
        assert kcli("get-offsets", "--topic", "never-made").stderr == (
            f"kcli get-offsets: {missing_topic('never-made')}\n"
        )
        assert (
            kcli("get-offsets", "--topic", "never-.+").stderr
            == "kcli get-offsets: no topic matches never-.+. List the topics with: kcli topics list\n"
        )
        assert kcli("get-offsets", "--topic-partitions", "never-made:1").code == 1

    @pytest.mark.parametrize(
        "options",
        [
            ("--time", "soon"),
            ("--time", "-7"),
            ("--partitions", "x"),
            ("--topic-partitions", "a:b:c:1-x"),
            ("--topic-partitions", ":"),
            ("--topic", "(", "--time", "latest"),
            ("--topic", "a", "--topic-partitions", "a:1"),
        ],
    )
    def test_usage(self, kcli: Kcli, options: tuple[str, ...]) -> None:
        result = kcli("get-offsets", *options)
        assert (result.code, result.stdout, result.stderr.count("\n")) == (2, "", 1)


class TestLogDirs:
    def test_sizes_are_those_of_the_files(self, kcli: Kcli, broker: BrokerProcess) -> None:
        topic = filled(kcli, "sized", partitions=2)
        (row,) = json.loads(kcli("log-dirs", "describe", "--topic-list", topic, "-o", "json").stdout)
        assert list(row) == ["broker", "log_dir", "error", "total_bytes", "usable_bytes", "partitions"]
        assert (row["broker"], row["error"]) == (1, None)
        assert 0 < row["usable_bytes"] < row["total_bytes"]
        size = (Path(row["log_dir"]) / f"{topic}-0" / f"{0:020}.log").stat().st_size
        sizes = [part["size"] for part in row["partitions"]]
        assert sizes == [size, 0]
        assert size > 0
        text = kcli("log-dirs", "--describe", "--topic-list", topic, "--broker-list", "1").stdout.splitlines()
        assert text[0].startswith(f"Broker: 1\tLogDir: {row['log_dir']}\tPartitions: 2\tTotalBytes: ")
        assert text[1:] == [
            f"\tTopic: sized\tPartition: {index}\tSize: {sizes[index]}\tOffsetLag: 0" for index in (0, 1)
        ]

    def test_what_is_not_there(self, kcli: Kcli) -> None:
        assert kcli("log-dirs", "describe", "--broker-list", "7") == (
            2,
            "",
            "kcli log-dirs describe: --broker-list: unknown broker 7. Brokers of the cluster: 1\n",
        )
        result = kcli("log-dirs", "describe", "--topic-list", "never-made")
        assert (result.code, result.stderr) == (
            1,
            f"kcli log-dirs describe: {missing_topic('never-made')}\n",
        )


class TestFeatures:
    def test_what_there_is(self, kcli: Kcli) -> None:
        described = kcli("features", "describe", "-o", "json").stdout
        assert [row["feature"] for row in json.loads(described)] == ["group.version"]
        assert kcli("features", "-o", "json", "describe").stdout == described  # as kafka-features has it
        code, text, _ = kcli("features", "describe")
        assert code == 0
        assert text.startswith("Feature: group.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\t")

    @pytest.mark.parametrize("dry", [(), ("--dry-run",)])
    def test_a_level_that_is_not_supported(self, kcli: Kcli, dry: tuple[str, ...]) -> None:
        result = kcli("features", "upgrade", "--feature", "transaction.version=2", *dry)
        assert result == (
            1,
            "",
            "kcli features upgrade: features: The update failed for all features since the following "
            "feature had an error: Invalid "
            "update version 2 for feature transaction.version. Local controller 1 does not support this feature. "
            "(INVALID_UPDATE_VERSION)\n",
        )

    def test_level_0_is_every_features(self, kcli: Kcli) -> None:
        disabled = kcli("features", "disable", "--feature", "transaction.version")
        assert disabled == (0, "transaction.version is finalized at level 0.\n", "")
        dry = kcli("features", "downgrade", "--feature", "group.version=0", "--dry-run", "--unsafe")
        assert dry == (0, "group.version can be finalized at level 0.\n", "")

    @pytest.mark.parametrize("pair", ["group.version", "=1", "group.version=x", "group.version=32768"])
    def test_usage(self, offline: Kcli, pair: str) -> None:
        result = offline("features", "upgrade", "--feature", pair)
        assert (result.code, result.stderr.count("\n")) == (2, 1)


def test_api_versions_are_those_of_the_broker(kcli: Kcli, broker: BrokerProcess) -> None:
    text = kcli("broker-api-versions").stdout.splitlines()
    assert text[0] == f"127.0.0.1:{broker.port} (id: 1 rack: null) -> ("
    assert "\tCreatePartitions(37): 0 to 3 [usable: 3]," in text
    assert (
        "\tDescribeTopicPartitions(75): 0 [usable: 0]," in text
        or "\tDescribeTopicPartitions(75): 0 [usable: 0]" in text
    )
    assert text[-1] == ")"
    rows = [json.loads(line) for line in kcli("broker-api-versions", "-o", "jsonl").stdout.splitlines()]
    assert {
        "broker": 1,
        "api": "DeleteRecords",
        "key": 21,
        "min_version": 0,
        "max_version": 2,
        "usable_version": 2,
    } in rows
    assert len(rows) == len(text) - 2
