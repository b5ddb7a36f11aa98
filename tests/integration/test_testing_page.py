"""docs/testing.md: every example on it runs as it stands there, with the installed package and its plugin only."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.integration.conftest import Installation
from tests.leftovers import Leftovers

PYTHON_BLOCK = re.compile(r"^```python\n# (test_\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIXTURE = re.compile(r"^\| `(kcli_\w+)` \| (\w+) \|", re.MULTILINE)
OPTION = re.compile(r"^(kcli_\w+) =", re.MULTILINE)


def test_every_example_passes(installed: Installation, leftovers: Leftovers, checkout: Path, tmp_path: Path) -> None:
    page = (checkout / "docs" / "testing.md").read_text()
    examples = dict(PYTHON_BLOCK.findall(page))
    assert len(examples) == len([language for language, _ in BLOCK.findall(page) if language == "python"])
    project = tmp_path / "project"
    project.mkdir()
    for name, source in examples.items():
        (project / name).write_text(source)
    output = installed.run_pytest(leftovers, project, "-q", "--strict-markers")
    assert f"{page.count('def test_')} passed" in output
    leftovers.await_ends()


def test_what_the_page_lists_is_what_there_is(
    installed: Installation, leftovers: Leftovers, checkout: Path, tmp_path: Path
) -> None:
    """Fixtures with their scopes, and options: no more and no less than the plugin has."""
    page = (checkout / "docs" / "testing.md").read_text()
    output = installed.run_pytest(leftovers, tmp_path, "--fixtures", "-q")
    present = {
        name: scope or "function" for name, scope in re.findall(r"^(kcli_\w+)(?: \[(\w+) scope\])?", output, re.M)
    }
    assert dict(FIXTURE.findall(page)) == present
    (ini,) = [text for language, text in BLOCK.findall(page) if language == "ini"]
    options = set(re.findall(r"^  (kcli_\w+)", installed.run_pytest(leftovers, tmp_path, "--help"), re.M))
    assert set(OPTION.findall(ini)) == options


def test_the_readme_leads_there(checkout: Path) -> None:
    assert "docs/testing.md" in (checkout / "README.md").read_text()
    assert tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["name"] == "kcore-broker"
