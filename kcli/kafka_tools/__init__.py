"""Apache Kafka's command-line tools under their own names: bin/kafka-topics.sh takes Kafka's options and runs kcli.

Each tool is a `Tool` in its own file: a table of Kafka's options with their names in kcli. `MODULES` has the files.
"""

from __future__ import annotations

# Kafka's name of a tool, without `.sh`, and the module with its table `TOOLS`, or with a function `run(name, words)` if
# there is nothing to translate.
MODULES = {
    "kafka-broker-api-versions": "cluster",
    "kafka-cluster": "cluster",
    "kafka-configs": "configs",
    "kafka-console-consumer": "plain",
    "kafka-console-producer": "plain",
    "kafka-consumer-groups": "groups",
    "kafka-consumer-perf-test": "plain",
    "kafka-delete-records": "records",
    "kafka-dump-log": "records",
    "kafka-e2e-latency": "plain",
    "kafka-features": "features",
    "kafka-get-offsets": "records",
    "kafka-leader-election": "partitions",
    "kafka-log-dirs": "cluster",
    "kafka-producer-perf-test": "plain",
    "kafka-server-start": "server",
    "kafka-server-stop": "server",
    "kafka-storage": "storage",
    "kafka-topics": "topics",
    "kafka-verifiable-consumer": "plain",
    "kafka-verifiable-producer": "plain",
}


def run(name: str, words: list[str]) -> int:
    """Runs a tool by the name of Kafka's script, and returns the exit code of that script."""
    from importlib import import_module

    from kcli.kafka_tools.tool import run_tool

    module = import_module(f"{__name__}.{MODULES[name]}")
    if hasattr(module, "run"):
        return int(module.run(name, words))
    return run_tool(module.TOOLS[name], words)
