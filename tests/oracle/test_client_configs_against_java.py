"""The committed definitions and verdicts about clients' configurations are what Kafka 4's own classes say today."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("java", "mvn")

VERSION = "4.3.1"
VECTORS = Path(__file__).parents[1] / "vectors" / "config"


def run_java(checkout: Path, source: str, lines: str = "") -> str:
    jars = subprocess.run([checkout / "bin/kafka-jars", VERSION], stdout=subprocess.PIPE, text=True, check=True)
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", jars.stdout.strip(), str(VECTORS / source)]
    done = subprocess.run(
        command, input=lines, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    )
    return done.stdout


def test_the_definitions_are_what_apache_kafka_says(checkout: Path) -> None:
    expected = json.loads((VECTORS / f"clients-{VERSION}.json").read_text())
    assert json.loads(run_java(checkout, "DumpClientDefinitions.java")) == expected


@pytest.mark.full_size
def test_the_verdicts_are_what_apache_kafka_says(checkout: Path) -> None:
    cases = json.loads((VECTORS / f"client-verdicts-{VERSION}.json").read_text())
    lines = ["\t".join([client, *(part for row in rows.items() for part in row)]) for client, rows, _ in cases]
    said = run_java(checkout, "ClientConfigVerdicts.java", "".join(f"{line}\n" for line in lines))
    verdicts = [line.partition("\t")[2] for line in said.splitlines() if line.startswith("verdict\t")]
    assert verdicts == [verdict for _, _, verdict in cases]
