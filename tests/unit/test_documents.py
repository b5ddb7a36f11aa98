"""The documents name files and directories that exist, and their links lead somewhere.

A name in backticks counts as a path if it ends like a source file, or begins with a directory of the checkout. It may
be the end of a path (`log.pyx`) and may have placeholders (`handlers/<api>.py`, `*_keys.py`). Code blocks are
not checked.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DIRECTORIES = ("bin", "build_extensions", "docs", "kcli", "kcore", "kspark", "man", "perf", "tests")
SUFFIXES = ("py", "pyx", "pxd", "pyi", "h", "c", "md", "toml", "java", "jsonl", "svg", "xml")
CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4,}.*$", re.MULTILINE)
QUOTED = re.compile(r"`([\w./*<>-]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGE = re.compile(r"(?<![\w/.])docs/[\w./-]+\.\w+")


def documents(checkout: Path) -> list[Path]:
    top = [checkout / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    return [*top, *sorted((checkout / "docs").rglob("*.md")), checkout / "perf" / "README.md"]


def paths(checkout: Path) -> list[str]:
    """Every file and directory of the checkout, with a leading slash."""
    found = [path for path in checkout.iterdir() if path.is_file()]
    for name in DIRECTORIES:
        found += [checkout / name, *(path for path in (checkout / name).rglob("*") if "__pycache__" not in path.parts)]
    return [f"/{path.relative_to(checkout)}" for path in found]


def named_paths(text: str) -> set[str]:
    prose = INDENTED.sub("", CODE_BLOCK.sub("", text))
    names = {name.rstrip("/") for name in QUOTED.findall(prose) if is_path(name)}
    return names | {name.rstrip(".") for name in PAGE.findall(prose)}


def is_path(name: str) -> bool:
    if name.startswith((".", "/")):
        return False
    in_checkout = "/" in name and name.split("/")[0] in DIRECTORIES
    return in_checkout or name.endswith(tuple(f".{suffix}" for suffix in SUFFIXES))


def missing_names(text: str, known: list[str]) -> list[str]:
    """The names in `text` that no path of `known` ends with."""
    ends = {path[at:] for path in known for at in range(len(path)) if path[at] == "/"}
    return sorted(name for name in named_paths(text) if f"/{name}" not in ends and not matches(name, ends))


def matches(name: str, ends: set[str]) -> bool:
    """Whether a name with placeholders (`<api>`, `*`) stands for one of `ends`."""
    parts = re.split(r"<[^>]*>|\*", name)
    pattern = re.compile("/" + "[^/]*".join(re.escape(part) for part in parts))
    return len(parts) > 1 and any(pattern.fullmatch(end) for end in ends)


def broken_links(document: Path, text: str) -> list[str]:
    """The links of `text` to files that do not exist, relative to `document`."""
    links = [link.partition("#")[0] for link in LINK.findall(CODE_BLOCK.sub("", text))]
    return [link for link in links if link and "://" not in link and not (document.parent / link).exists()]


def test_names_and_links_exist(checkout: Path) -> None:
    known = paths(checkout)
    found = []
    for document in documents(checkout):
        text = document.read_text()
        wrong = missing_names(text, known) + broken_links(document, text)
        found += [f"{document.relative_to(checkout)}: {name}" for name in wrong]
    assert not found, "\n".join(["names of files that do not exist:", *found])


def test_every_page_of_the_architecture_is_listed(checkout: Path) -> None:
    overview = (checkout / "ARCHITECTURE.md").read_text()
    pages = {f"docs/architecture/{page.name}" for page in (checkout / "docs" / "architecture").glob("*.md")}
    assert pages == {link for link in LINK.findall(overview) if link.startswith("docs/architecture/")}


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("See `log.pyx` and `kcore/storage/log.pyx`.", []),
        ("One file per API: `handlers/<api>.py`, in tables `*_keys.py`.", []),
        ("    `code.py`\n\n```python\n`more_code.py`\n```\n", []),
        ("See `lgo.pyx`.", ["lgo.pyx"]),
        ("See `kcore/attic/` and `kcore/storage/attic.py`.", ["kcore/attic", "kcore/storage/attic.py"]),
        ("The tables are `*_attics.py`.", ["*_attics.py"]),
        ("docs/attic.md has more.", ["docs/attic.md"]),
    ],
)
def test_a_wrong_name_is_found(checkout: Path, text: str, missing: list[str]) -> None:
    assert missing_names(text, paths(checkout)) == missing


def test_a_broken_link_is_found(checkout: Path) -> None:
    text = "[quotas](quotas.md#files), [attic](attic.md), [Kafka](https://kafka.apache.org/)"
    assert broken_links(checkout / "docs" / "architecture" / "network.md", text) == ["attic.md"]
