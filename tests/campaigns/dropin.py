"""bin/kafka-*.sh and Apache Kafka's own tools before Apache Kafka's own brokers, where tests/dropin has ours.

An even seed takes 3.9, an odd one 4. Each kind of tool gets a fresh broker, one after the other; every command line is
a case. What cannot be equal is in DIFFERENT, with the reason.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.apache_kafka import ApacheKafka
from tests.dropin.command_lines import BOTH, LINES
from tests.dropin.suite import Runs, comparable, names_of, run_all
from tests.dropin.tools import JavaTools, Launchers

PACKAGES = ("kcli", "kcore/client", "bin", "tests/dropin")
CHECKOUT = Path(__file__).resolve().parent.parent.parent
DIFFERENT = {
    "api versions": "a client lists the APIs that it knows itself, and names those of newer brokers by number",
    "describe a broker": "a value of Apache Kafka's follows what was set a moment later, and its tool may ask before",
    "dump an index": "a Kafka that runs fills its indexes up with zeros, which kcli takes for the end of them",
    "unregister": "kcli cannot ask for it: a broker of ours has nothing to unregister from",
}


def run(seed: int) -> int:
    """Raises AssertionError with all lines that differ; how many were compared."""
    version = BOTH[seed % len(BOTH)]
    with tempfile.TemporaryDirectory(prefix="kcli-dropin-") as temporary:
        directory = Path(temporary)
        ours, data = _ours(version, directory)
        theirs = _theirs(version, directory, data)
    names = [name for name in names_of(version) if name not in DIFFERENT]
    unlike = [name for name in names if comparable(name, ours[name]) != comparable(name, theirs[name])]
    assert not unlike, "\n".join(
        f"{LINES[name].run}\n  kcli:  {comparable(name, ours[name])}\n  Kafka: {comparable(name, theirs[name])}"
        for name in unlike
    )
    return len(names)


def _ours(version: str, directory: Path) -> tuple[Runs, Path]:
    """With the log directory that the commands left behind."""
    mine = directory / "launchers"
    mine.mkdir()
    with ApacheKafka(version, mine / "data") as kafka:
        return run_all(Launchers(CHECKOUT, mine), kafka.bootstrap_server, mine, kafka.directory), kafka.directory


def _theirs(version: str, directory: Path, data: Path) -> Runs:
    own = directory / "tools"
    own.mkdir()
    tools = JavaTools(CHECKOUT, version, own)
    try:
        with ApacheKafka(version, own / "data") as kafka:
            return run_all(tools, kafka.bootstrap_server, own, data, version)
    finally:
        tools.close()
