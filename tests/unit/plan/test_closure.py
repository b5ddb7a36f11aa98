"""The closure of a file has whatever it is made of, however it comes by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.closure import Sources

FILES = {
    "kcore/__init__.py": "",
    "kcore/a.py": "def f():\n    from kcore.lazy import x\n",
    "kcore/lazy.py": "from . import native\n",
    "kcore/native.pyx": "from kcore.sync cimport (\n    lock,\n)\ncimport kcore.other\n",
    "kcore/native.pxd": 'cdef extern from "fast.h" nogil:\n    int f()\n',
    "kcore/fast.h": '#include "faster.h"\n',
    "kcore/deep/faster.h": "",
    "kcore/sync.pxd": "",
    "kcore/sync.pyx": "from kcore.python_half import g\n",
    "kcore/python_half.py": "",
    "kcore/other.pxd": "",
    "kcore/unused.py": "import kcore.a\n",
    "kcli/__init__.py": "",
    "kcli/__main__.py": "import kcli.cli\n",
    "kcli/cli.py": "from importlib import import_module\nimport_module(f'kcli.commands.{1}')\n",
    "kcli/commands/one.py": "",
    "kcli/commands/one.toml": "",
    "tests/conftest.py": "import kcore.unused\n",
    "tests/a/conftest.py": "",
    "tests/a/test_a.py": '"""Not kcore.unused."""\nfrom kcore.a import f\n',
    "tests/a/case.toml": "",
    "tests/b/test_program.py": "import sys\nCOMMAND = [sys.executable, '-m', 'kcli', 'topics']\n",
    "tests/b/test_named.py": "BOOT = 'from kcore.lazy import main'\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def closure(tree: Path, root: str, *leaves: str) -> set[str]:
    found = Sources(tree).closure([tree / root], [tree / leaf for leaf in leaves])
    return {str(path.relative_to(tree)) for path in found}


def test_imports_of_python_and_of_cython_and_headers(tree: Path) -> None:
    native = {"native.pyx", "native.pxd", "fast.h", "deep/faster.h", "sync.pxd", "sync.pyx", "python_half.py"}
    wanted = {"__init__.py", "a.py", "lazy.py", "other.pxd", *native}
    assert closure(tree, "kcore/a.py") == {f"kcore/{name}" for name in wanted}


def test_a_test_has_its_data_and_the_fixtures_above_it(tree: Path) -> None:
    found = closure(tree, "tests/a/test_a.py")
    assert {"tests/a/case.toml", "tests/a/conftest.py", "tests/conftest.py", "kcore/sync.pyx"} <= found
    assert "kcore/unused.py" in found, "tests/conftest.py imports it"
    assert "kcore/unused.py" not in closure(tree, "tests/a/test_a.py", "tests/conftest.py")


def test_programs_and_modules_that_a_string_names(tree: Path) -> None:
    program = closure(tree, "tests/b/test_program.py", "tests/conftest.py")
    assert {"kcli/cli.py", "kcli/commands/one.py", "kcli/commands/one.toml"} <= program, "imported by a computed name"
    named = closure(tree, "tests/b/test_named.py", "tests/conftest.py")
    assert "kcore/native.pyx" in named
    assert "kcli/cli.py" not in named


def test_a_directory_counts_with_all_its_files(tree: Path) -> None:
    assert {"kcli/commands/one.py", "kcli/commands/one.toml"} <= closure(tree, "kcli/commands")


def test_the_broker_is_in_the_closure_of_its_clients_tests(checkout: Path) -> None:
    sources = Sources(checkout)
    found = sources.closure([checkout / "tests" / "broker_process.py"], [checkout / "tests" / "conftest.py"])
    names = {str(path.relative_to(checkout)) for path in found}
    wanted = {"kcore/server/broker.py", "kcore/server/handlers/create_topics.py", "kcore/record/crc32c.h"}
    assert wanted <= names
    assert not any(name.startswith(("kcli/", "kspark/")) for name in names)
