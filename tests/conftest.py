"""What every test may ask for: the machine's needs by marker, and the checkout's paths.

`@pytest.mark.needs("java", "mvn")` names what a test cannot run without. Where it is missing the test is left out
with the reason in pytest's summary; under `KCLI_TEST_ALL=1` (CI) a missing need is a failure, so that nothing is left
out unseen.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from kcore.logger import LIMITED
from tests.apache_kafka import ApacheKafka
from tests.leftovers import librdkafka_clients
from tests.shared_kafka import shared_kafka

pytest_plugins = ("tests.plan.suite_size", "tests.plan.durations", "tests.plan.order", "tests.plan.processes")

# The same examples at every run, however long the machine takes for one; campaigns look for new ones (bin/campaign).
hypothesis.settings.register_profile(
    "suite",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("suite")

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING_MUST_RUN = os.environ.get("KCLI_TEST_ALL", "") not in ("", "0")

# need -> the executable that shows it is there, and the Debian package that brings it
NEEDS = {
    "java": ("javac", "default-jdk-headless"),
    "mvn": ("mvn", "maven"),
    "git": ("git", "git"),
    "cc": ("cc", "gcc"),
    "c++": ("c++", "g++"),
    "man": ("man", "man-db"),
    "setpriv": ("setpriv", "util-linux"),
}
A_WORKER_CRASHED = pytest.StashKey[bool]()
# Apache Kafka is run from its jars.
APACHE_KAFKA = ("java", "mvn", "setpriv")


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts background jobs deaf to Ctrl-C; the processes that tests interrupt would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", f"needs(*names): what the machine must have; any of {', '.join(NEEDS)}")
    config.addinivalue_line("markers", "release_build: meaningless or too slow in a sanitizer build")


def pytest_collection_finish() -> None:
    # Ten thousand tests are a third of a million objects that stay: who collects garbage need not go through them.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(sched: Any) -> None:
    sched.config.stash[A_WORKER_CRASHED] = True


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Not as a test that failed: .ci/run plays some of those again.
    if session.config.stash.get(A_WORKER_CRASHED, False):
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        require(marker.args)


def require(needs: Iterable[str]) -> None:
    """Leaves the test out, or fails it, where one of these is missing."""
    for need in needs:
        executable, package = NEEDS[need]
        if shutil.which(executable) is None:
            reason = f"needs {executable} (Debian: apt-get install {package})"
            (pytest.fail if EVERYTHING_MUST_RUN else pytest.skip)(reason)


@pytest.fixture(scope="module", autouse=True)
def _no_librdkafka_client_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """One that is neither closed nor let go of tries to reach its broker, and says so, for the rest of the run."""
    clients, failed = librdkafka_clients(), request.session.testsfailed
    yield
    if librdkafka_clients() > clients:
        # An error that a test has kept holds on to all that its frames have.
        gc.collect()
    # What has failed is kept for the report.
    assert librdkafka_clients() <= clients or request.session.testsfailed > failed, "close it, or let go of it"


@pytest.fixture(autouse=True)
def _no_line_is_left_out() -> None:
    """Lines that clients cause are limited by client and cause, and every client of a test is at the same address."""
    LIMITED.causes.clear()


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout that is under test."""
    return ROOT


@pytest.fixture(scope="session")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The temporary directory that all workers of a run share."""
    directory = tmp_path_factory.getbasetemp()
    return directory.parent if "PYTEST_XDIST_WORKER" in os.environ else directory


@pytest.fixture(scope="session")
def apache_kafka_28(run_directory: Path) -> Iterator[ApacheKafka]:
    """Apache Kafka 2.8 with ZooKeeper: its topics may be in the formats of before 0.11.

    One for the whole run and all its workers, as those below: a test keeps to topics and groups of its own. A test that
    changes what belongs to the broker or looks at everybody's groups starts its own (tests/apache_kafka.py).
    """
    require(APACHE_KAFKA)
    with shared_kafka(run_directory, "2.8", "zookeeper") as kafka:
        yield kafka


@pytest.fixture(scope="session")
def apache_kafka_39_zookeeper(run_directory: Path) -> Iterator[ApacheKafka]:
    """Apache Kafka 3.9 with ZooKeeper, likewise."""
    require(APACHE_KAFKA)
    with shared_kafka(run_directory, "3.9", "zookeeper") as kafka:
        yield kafka


@pytest.fixture(scope="session")
def apache_kafka_39(run_directory: Path) -> Iterator[ApacheKafka]:
    """Apache Kafka 3.9 in KRaft mode, likewise."""
    require(APACHE_KAFKA)
    with shared_kafka(run_directory, "3.9") as kafka:
        yield kafka


@pytest.fixture(scope="session")
def apache_kafka_4(run_directory: Path) -> Iterator[ApacheKafka]:
    """Apache Kafka 4 in KRaft mode, likewise."""
    require(APACHE_KAFKA)
    with shared_kafka(run_directory, "4") as kafka:
        yield kafka
