"""Tools whose options kcli's commands accept unchanged: the consoles and the perf tools.

The command itself reports errors; the exit code is that of Kafka's tool.
"""

from __future__ import annotations

import sys

from kcli.failures import text_of
from kcli.kafka_tools.tool import carry_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Kafka's producers wait for a broker for max.block.ms, its consumers forever. Both print warnings meanwhile.
PATIENT, ENDLESS = ("--wait-ms", "60000"), ("--wait",)
COMMANDS = {
    "kafka-console-producer": ("console-producer", *PATIENT),
    "kafka-console-consumer": ("console-consumer", *ENDLESS),
    "kafka-verifiable-consumer": ("verifiable-consumer", *ENDLESS),
    "kafka-verifiable-producer": ("verifiable-producer", *PATIENT),
    "kafka-producer-perf-test": ("perf-test", "producer", *PATIENT),
    "kafka-consumer-perf-test": ("perf-test", "consumer", *ENDLESS),
    "kafka-e2e-latency": ("perf-test", "e2e", *PATIENT),
}


def fail(causes: Sequence[str | Exception], words: Sequence[str]) -> None:
    for cause in causes:
        print(text_of(cause), file=sys.stderr)


def run(name: str, words: list[str]) -> int:
    """Runs kcli's command with the unchanged words."""
    return carry_out(fail, words, [*COMMANDS[name], *words])
