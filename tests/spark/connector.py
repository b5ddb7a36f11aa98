"""Spark's own Kafka connector, of pyspark's version: its jars come from Maven Central by bin/spark-jars."""

from __future__ import annotations

import shutil
import subprocess

import pyspark

from tests.conftest import ROOT

# PySpark may be newer than any connector on Maven Central; tests take the newest version that both have.
VERSIONS = (ROOT / "tests" / "spark_jars" / "versions").read_text().split()


def what_is_missing() -> str | None:
    """Why there is no connector for this session, and what helps."""
    if shutil.which("mvn") is None:
        return "needs mvn (Debian: apt-get install maven)"
    if pyspark.__version__ not in VERSIONS:
        return f"there is no Kafka connector of Spark {pyspark.__version__}: pip install pyspark=={VERSIONS[-1]}"
    return None


def connector_settings() -> dict[str, str]:
    """What a session needs to have `format("kafka")`."""
    command = [ROOT / "bin" / "spark-jars", pyspark.__version__]
    jars = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    return {"spark.driver.extraClassPath": jars.stdout.strip()}
