"""A project outside the tree that has nothing but the installed package tests itself with the pytest plugin."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration.conftest import Installation
from tests.leftovers import Leftovers

PROJECT = Path(__file__).with_name("sample_project")


@pytest.mark.parametrize(
    "arguments", [(), pytest.param(("-n", "2"), marks=pytest.mark.full_size)], ids=["alone", "xdist"]
)
def test_it_passes_and_leaves_nothing(
    installed: Installation, leftovers: Leftovers, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    project = tmp_path / "project"
    shutil.copytree(PROJECT, project)
    output = installed.run_pytest(leftovers, project, "-q", *arguments)
    assert "62 passed" in output
    assert len(set((project / "seen").read_text().split())) == 50, "every test had a broker of its own"
    leftovers.await_ends()
    assert [name for name in leftovers.files() if not name.startswith("pytest-of")] == []


@pytest.mark.full_size
def test_the_scope_of_the_shared_broker_is_an_option(
    installed: Installation, leftovers: Leftovers, tmp_path: Path
) -> None:
    (tmp_path / "test_scope.py").write_text(
        "seen = []\n"
        "def test_one(kcli_broker):\n    seen.append(kcli_broker.pid)\n"
        "def test_two(kcli_broker):\n    seen.append(kcli_broker.pid)\n"
        "def test_they_differ():\n    assert len(set(seen)) == 2\n"
    )
    installed.run_pytest(leftovers, tmp_path, "-q", "-o", "kcli_broker_scope=function")
    with pytest.raises(AssertionError, match="must be one of function, class"):
        installed.run_pytest(leftovers, tmp_path, "-q", "-o", "kcli_broker_scope=test")
    with pytest.raises(AssertionError, match="is not NAME=VALUE"):
        installed.run_pytest(leftovers, tmp_path, "-q", "-o", "kcli_broker_properties=num.partitions")


@pytest.mark.full_size
def test_the_client_library_is_an_option(installed: Installation, leftovers: Leftovers, tmp_path: Path) -> None:
    (tmp_path / "test_client.py").write_text(
        "def test_client(kcli_producer, kcli_consumer):\n"
        "    modules = {type(make()).__module__.split('.')[0] for make in (kcli_producer, kcli_consumer)}\n"
        "    assert modules == {'kafka'}\n"
    )
    installed.run_pytest(leftovers, tmp_path, "-q", "-o", "kcli_client=kafka-python")
    with pytest.raises(AssertionError, match="must be one of confluent-kafka, kafka-python, aiokafka"):
        installed.run_pytest(leftovers, tmp_path, "-q", "-o", "kcli_client=librdkafka")


def test_who_does_not_use_it_does_not_pay_for_it(installed: Installation, leftovers: Leftovers, tmp_path: Path) -> None:
    """Neither the broker nor a client nor a process comes with the plugin itself."""
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n"
        "def test_nothing(request):\n"
        "    assert request.config.pluginmanager.hasplugin('kcli')\n"
        "    loaded = {name for name in sys.modules if name.startswith(('kcore', 'kcli'))}\n"
        "    assert loaded == {'kcore', 'kcore.testing', 'kcore.testing.pytest_plugin'}\n"
    )
    installed.run_pytest(leftovers, tmp_path, "-q")
