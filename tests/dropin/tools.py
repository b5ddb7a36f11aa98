"""Who runs a command line: bin/kafka-*.sh, or Apache Kafka's own tool of a version, many in one JVM."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.dropin.printed import Printed
from tests.interop.admin_scenario.clients import JavaProgram

TIMEOUT_S = 180
# Kafka's scripts, and the classes that they start; in which package these are has changed over the years.
CLASSES = {
    "kafka-broker-api-versions.sh": "BrokerApiVersionsCommand",
    "kafka-cluster.sh": "ClusterTool",
    "kafka-configs.sh": "ConfigCommand",
    "kafka-console-consumer.sh": "ConsoleConsumer",
    "kafka-console-producer.sh": "ConsoleProducer",
    "kafka-consumer-groups.sh": "ConsumerGroupCommand",
    "kafka-consumer-perf-test.sh": "ConsumerPerformance",
    "kafka-delete-records.sh": "DeleteRecordsCommand",
    "kafka-dump-log.sh": "DumpLogSegments",
    "kafka-features.sh": "FeatureCommand",
    "kafka-get-offsets.sh": "GetOffsetShell",
    "kafka-leader-election.sh": "LeaderElectionCommand",
    "kafka-log-dirs.sh": "LogDirsCommand",
    "kafka-producer-perf-test.sh": "ProducerPerformance",
    "kafka-storage.sh": "StorageTool",
    "kafka-topics.sh": "TopicCommand",
}
PACKAGES = (
    *("org.apache.kafka.tools.consumer.group", "org.apache.kafka.tools.consumer", "org.apache.kafka.tools"),
    *("kafka.tools", "kafka.admin"),
)


class Launchers:
    """bin/kafka-*.sh of a checkout, over this interpreter's kcli: what is tested needs no build of its own."""

    def __init__(self, checkout: Path, directory: Path) -> None:
        self.bin = checkout / "bin"
        self.kcli = directory / "kcli"
        self.kcli.write_text(f'#!/bin/sh\nPYTHONPATH={checkout} exec {sys.executable} -m kcli "$@"\n')
        self.kcli.chmod(0o755)

    def run(self, tool: str, words: Sequence[str], stdin: str = "") -> Printed:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("KCLI_")}
        done = subprocess.run(
            [self.bin / tool, *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            env={**clean, "KCLI": str(self.kcli), "XDG_CONFIG_HOME": os.devnull},
        )
        return Printed(done.returncode, done.stdout, done.stderr)


class JavaTools:
    """Apache Kafka's own, in one JVM."""

    def __init__(self, checkout: Path, version: str, directory: Path) -> None:
        jars = subprocess.run([checkout / "bin/kafka-jars", version], stdout=subprocess.PIPE, text=True, check=True)
        class_path = jars.stdout.strip()
        self._entries = {
            entry
            for jar in Path(class_path.partition(":")[0]).parent.glob("kafka*.jar")
            for entry in zipfile.ZipFile(jar).namelist()
        }
        self._program = JavaProgram(class_path, directory, "ToolProgram")

    def run(self, tool: str, words: Sequence[str], stdin: str = "") -> Printed:
        arguments = {"program": self._class(CLASSES[tool]), "words": list(words), "stdin": stdin}
        answer = self._program.ask("", "tool", arguments)
        return Printed(answer["code"], answer["stdout"], answer["stderr"])

    def _class(self, name: str) -> str:
        return next(
            f"{package}.{name}" for package in PACKAGES if f"{package.replace('.', '/')}/{name}.class" in self._entries
        )

    def close(self) -> None:
        self._program.close()
