"""Apache Kafka's command-line tools under their own names: bin/kafka-topics.sh takes Kafka's options, and kcli carries
them out.

A tool is a `Tool` of its own file: a table of Kafka's options and what each is called here. `TOOLS` says in which.
"""

from __future__ import annotations

# Kafka's name of a tool, without `.sh`, and the module of this package that has it: in its table `TOOLS`, or run by
# `run(name, words)` where there is nothing to translate.
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
    """Runs a tool by the name of Kafka's script for it, and returns the exit code that Kafka's own would have."""
    from importlib import import_module

    from kcli.kafka_tools.tool import run_tool

    module = import_module(f"{__name__}.{MODULES[name]}")
    if hasattr(module, "run"):
        return int(module.run(name, words))
    return run_tool(module.TOOLS[name], words)
