"""`kcli demo`: the whole of it, twice, and nothing of anyone else's is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kcli.data_directory import read_serving_pid
from kcli.demonstration.flights import FLIGHT_COUNT
from tests.cli.conftest import Kcli


def test_the_demo_is_complete_and_can_be_repeated(tmp_path: Path, offline: Kcli) -> None:
    for _ in range(2):
        result = offline("demo", "--data-dir", tmp_path / "demo")
        assert result.code == 0, result.stderr
        assert result.stderr == ""
        assert f"Consumed {FLIGHT_COUNT:,} flights" in result.stdout
        assert "checksum f975dc67" in result.stdout
        assert "│ UA      │ United Air Lines Inc.       │  58,665 │           +3.6 min │" in result.stdout
        assert "baseOffset: 0 lastOffset: " in result.stdout
        assert f"kcli server-start --data-dir {tmp_path / 'demo' / 'data'}" in result.stdout
        assert "kcli demo --pipeline" in result.stdout
        assert sorted(os.listdir(tmp_path / "demo" / "pipeline")) == ["airlines.csv", "flights.toml"]
    assert read_serving_pid(str(tmp_path / "demo" / "data")) is None, "the broker was stopped"
    assert (tmp_path / "demo" / "data" / ".kafka_cleanshutdown").exists(), "in good order"


def test_a_directory_that_no_demo_made_is_left_alone(tmp_path: Path, offline: Kcli) -> None:
    (tmp_path / "mine").write_text("precious")
    result = offline("demo", "--data-dir", tmp_path)
    assert (result.code, result.stdout) == (2, "")
    assert (
        result.stderr
        == f"kcli demo: {tmp_path}: already exists, and was not created by the demo. Choose another --data-dir\n"
    )
    assert os.listdir(tmp_path) == ["mine"]


def test_what_a_pipeline_needs_is_told_before_anything_is_done(tmp_path: Path) -> None:
    program = f"""
import sys
sys.modules["pyspark"] = None
sys.argv = ["kcli", "demo", "--pipeline", "--data-dir", {str(tmp_path / "demo")!r}]
from kcli.__main__ import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kcli demo: pipelines need PySpark")
    assert "pip install 'kcore-broker[spark]'" in done.stderr
    assert not (tmp_path / "demo").exists()
