"""Ends the processes that a test leaves behind, and fails a test at once whose broker of the session has died.

- A `with subprocess.Popen(...)` block that raises kills its process. Python would wait for it, for ever when it waits
  for a broker that is gone.
- A process that a test, or a fixture of its own, has started in the main thread and not ended is killed with the test.
  Processes of fixtures of a wider scope belong to these; the fork server of brokers belongs to the pytest process.
- Before a test is called, fixtures of the session that have `is_running` must be running.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Generator
from typing import Any

import pytest

FORK_SERVER = "kcore.testing.fork_server"
SHOWN_LOG_CHARACTERS = 4_000


def pytest_configure(config: pytest.Config) -> None:
    processes = Processes()
    config.pluginmanager.register(processes, "kcli-processes")
    config.add_cleanup(processes.close)


class Processes:
    """Watches what is started by `subprocess.Popen`."""

    def __init__(self) -> None:
        self._of_test: list[subprocess.Popen[Any]] = []
        self._is_in_test = False
        # How many fixtures of a wider scope than a test are being set up.
        self._wide_fixtures = 0
        self._init, self._exit = subprocess.Popen.__init__, subprocess.Popen.__exit__
        watcher = self

        def init(process: subprocess.Popen[Any], *arguments: Any, **options: Any) -> None:
            watcher._init(process, *arguments, **options)
            watcher.started(process)

        def leave(process: subprocess.Popen[Any], kind: Any, *exception: Any) -> None:
            if kind is not None and process.poll() is None:
                process.kill()
            watcher._exit(process, kind, *exception)

        subprocess.Popen.__init__ = init  # type: ignore[method-assign, assignment]
        subprocess.Popen.__exit__ = leave  # type: ignore[method-assign]

    def close(self) -> None:
        subprocess.Popen.__init__ = self._init  # type: ignore[method-assign]
        subprocess.Popen.__exit__ = self._exit  # type: ignore[method-assign]

    def started(self, process: subprocess.Popen[Any]) -> None:
        # Threads belong to fixtures of a module, which play scenarios in advance.
        if not self._is_in_test or self._wide_fixtures or threading.current_thread() is not threading.main_thread():
            return
        if FORK_SERVER not in str(process.args):
            self._of_test.append(process)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._is_in_test = True
        try:
            return (yield)
        finally:
            self._is_in_test = False
            self._end_all()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        is_wide = fixturedef.scope != "function"
        self._wide_fixtures += is_wide
        try:
            return (yield)
        finally:
            self._wide_fixtures -= is_wide

    def _end_all(self) -> None:
        processes, self._of_test = self._of_test, []
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> None:
        definitions = pyfuncitem._fixtureinfo.name2fixturedefs
        for name, value in pyfuncitem.funcargs.items():
            if name in definitions and definitions[name][-1].scope == "session":
                require_running(name, value)


def require_running(name: str, value: Any) -> None:
    if getattr(value, "is_running", True):
        return
    log = value.log()[-SHOWN_LOG_CHARACTERS:] if hasattr(value, "log") else ""
    pytest.fail(f"{name}, which tests of this session share, has ended; the end of its log:\n{log}", pytrace=False)
