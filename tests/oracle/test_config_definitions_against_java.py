"""The committed definitions of Kafka's configurations are what its own classes say today."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("java", "mvn")

VECTORS = Path(__file__).parents[1] / "vectors" / "config"


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_the_vectors_are_what_apache_kafka_says(checkout: Path, version: str) -> None:
    jars = subprocess.run([checkout / "bin/kafka-jars", version], stdout=subprocess.PIPE, text=True, check=True)
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", jars.stdout.strip()]
    source = VECTORS / "DumpConfigDefinitions.java"
    done = subprocess.run([*command, str(source)], stdout=subprocess.PIPE, text=True, check=True)
    assert json.loads(done.stdout) == json.loads((VECTORS / f"kafka-{version}.json").read_text())
