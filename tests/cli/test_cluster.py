"""`kcli cluster`, `partitions elect-leaders` and `storage`: what they print, and what a broker makes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kcore import uuid
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli


class TestCluster:
    def test_its_id_and_brokers(self, kcli: Kcli, broker: BrokerProcess) -> None:
        (cluster_id,) = kcli("cluster", "cluster-id").stdout.splitlines()
        assert len(uuid.from_text(cluster_id)) == 16
        assert json.loads(kcli("cluster", "cluster-id", "-o", "json").stdout) == {
            "cluster_id": cluster_id,
            "controller": 1,
        }
        assert kcli("cluster", "--bootstrap-server", broker.bootstrap_server, "cluster-id").stdout == f"{cluster_id}\n"
        assert json.loads(kcli("cluster", "list-endpoints", "-o", "jsonl").stdout) == {
            "id": 1,
            "host": "127.0.0.1",
            "port": broker.port,
            "rack": None,
        }

    def test_what_no_client_can_ask_for(self, kcli: Kcli) -> None:
        assert kcli("cluster", "unregister", "--id", "1") == (
            1,
            "",
            "kcli cluster unregister: The target cluster does not support the broker unregistration API.\n",
        )


class TestElections:
    def test_a_leader_that_is_the_preferred_one_stays(self, kcli: Kcli, tmp_path: Path) -> None:
        kcli("topics", "create", "elected", "--partitions", "2")
        row = {"topic": "elected", "partition": 1, "elected": False}
        options = ("--topic", "elected", "--partition", "1", "-o", "json")
        assert json.loads(kcli("partitions", "elect-leaders", *options).stdout) == [row]
        file = tmp_path / "partitions.json"
        file.write_text('{"partitions": [{"topic": "elected", "partition": 1}]}')
        listed = kcli("partitions", "elect-leaders", "--path-to-json-file", file, "-o", "json")
        assert json.loads(listed.stdout) == [row]
        assert kcli("partitions", "elect-leaders", "--all-topic-partitions", "-o", "json").stdout == "[]\n"

    def test_a_partition_that_is_not_there(self, kcli: Kcli) -> None:
        result = kcli("partitions", "elect-leaders", "--topic", "never-made", "--partition", "0")
        assert (result.code, result.stdout) == (1, "")
        assert result.stderr.startswith("kcli partitions elect-leaders: partition never-made-0: ")

    @pytest.mark.parametrize(
        "options",
        [
            (),
            ("--topic", "a"),
            ("--topic", "a", "--partition", "0", "--all-topic-partitions"),
            ("--all-topic-partitions", "--election-type", "best"),
        ],
    )
    def test_usage(self, offline: Kcli, options: tuple[str, ...]) -> None:
        result = offline("partitions", "elect-leaders", *options)
        assert (result.code, result.stdout, result.stderr.count("\n")) == (2, "", 1)


class TestStorage:
    def properties(self, directory: Path, *names: str) -> Path:
        file = directory / "server.properties"
        file.write_text(f"node.id=4\nlog.dirs={','.join(str(directory / name) for name in names)}\n")
        return file

    def test_ids_are_new_each_time(self, offline: Kcli) -> None:
        ids = {offline("storage", "random-uuid").stdout.strip() for _ in range(2)}
        assert len(ids) == 2
        assert all(len(uuid.from_text(text)) == 16 and not text.startswith("-") for text in ids)

    def test_a_broker_starts_in_what_was_formatted(self, offline: Kcli, tmp_path: Path) -> None:
        cluster_id = "4L6g3nShT-eMCtK--X86sw"
        file = self.properties(tmp_path, "data")
        assert json.loads(offline("storage", "format", "-t", cluster_id, "-c", file, "-o", "json").stdout) == [
            {"directory": str(tmp_path / "data"), "cluster_id": cluster_id, "node_id": 4}
        ]
        told = json.loads(offline("storage", "info", "-c", file, "-o", "json").stdout)
        assert told == [
            {"directory": str(tmp_path / "data"), "formatted": True, "cluster_id": cluster_id, "node_id": 4}
        ]
        with BrokerProcess(tmp_path / "data") as broker:
            asked = offline("cluster", "cluster-id", "--bootstrap-server", broker.bootstrap_server)
            assert asked.stdout == f"{cluster_id}\n"
            brokers = offline("cluster", "list-endpoints", "-o", "jsonl", "--bootstrap-server", broker.bootstrap_server)
            assert json.loads(brokers.stdout)["id"] == 4

    def test_what_is_formatted_stays_as_it_is(self, offline: Kcli, tmp_path: Path) -> None:
        first, second = "4L6g3nShT-eMCtK--X86sw", "5L6g3nShT-eMCtK--X86sw"
        file = self.properties(tmp_path, "a")
        offline("storage", "format", "-t", first, "-c", file)
        self.properties(tmp_path, "a", "b")
        refused = offline("storage", "format", "-t", second, "-c", file)
        assert (refused.code, refused.stdout) == (1, "")
        assert re.match(r"kcli storage format: Log directory .*/a is already formatted\.", refused.stderr)
        unformatted = offline("storage", "info", "-c", file)
        assert (unformatted.code, unformatted.stderr) == (1, f"kcli storage info: {tmp_path}/b is not formatted.\n")
        assert offline("storage", "format", "-g", "-t", second, "-c", file).code == 0
        mixed = offline("storage", "info", "-c", file)
        assert mixed.code == 1
        assert "belong to different clusters" in mixed.stderr

    def test_an_id_that_is_none(self, offline: Kcli, tmp_path: Path) -> None:
        result = offline("storage", "format", "-t", "cluster", "-c", self.properties(tmp_path, "data"))
        assert (result.code, result.stdout) == (1, "")
        assert "does not appear to be a valid UUID" in result.stderr
        assert not (tmp_path / "data").exists()
