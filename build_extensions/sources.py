"""The .pyx files of the checkout, and the files that belong to each: its .pxd files with all that they cimport.

An extension is rebuilt when one of its files changes, so this must not miss any. It may name too many: every name in a
statement with `cimport` or `include` counts, whether it is a module or something inside one. `translation` compares
the result with the files that Cython really opened. Headers are not followed: all of them belong to every module.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PACKAGES = ("kcore", "kspark")
# A statement goes on in parentheses and after a backslash. Text in strings and comments matches as well: no harm.
STATEMENT = re.compile(
    r"^[^\S\n]*(?:from[ \t]+(?P<package>[\w.]+)[ \t\\\n]+)?cimport\b(?P<names>[^(\n]*(?:\([^)]*\)|(?:\\\n[^\n]*)*)?)",
    re.MULTILINE,
)
INCLUDE = re.compile(r"^[^\S\n]*include[ \t]+['\"](?P<path>[^'\"]+)['\"]", re.MULTILINE)
NAME = re.compile(r"[\w.]+")


def module_name(source: Path) -> str:
    return ".".join(source.with_suffix("").parts)


def pyx_files() -> list[Path]:
    return sorted(path for package in PACKAGES for path in Path(package).rglob("*.pyx"))


def headers() -> list[Path]:
    return sorted(path for package in PACKAGES for path in Path(package).rglob("*.h"))


def files_of(source: Path) -> list[Path]:
    """A .pyx with everything that Cython may read for it, in order."""
    found: set[Path] = set()
    waiting = [source, *declarations_of(module_name(source))]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += direct_dependencies(path, path.stat().st_mtime_ns)
    return sorted(found)


@cache
def direct_dependencies(path: Path, mtime_ns: int) -> tuple[Path, ...]:
    """What one file cimports or includes."""
    text = path.read_text(encoding="utf-8")
    found: list[Path] = []
    for statement in STATEMENT.finditer(text):
        package = absolute(statement["package"] or "", path)
        if package:
            found += declarations_of(package)
        for name in NAME.findall(statement["names"]):
            found += declarations_of(f"{package}.{name}" if package else name)
    for statement in INCLUDE.finditer(text):
        found += [file for file in (path.parent / statement["path"], Path(statement["path"])) if file.is_file()]
    return tuple(found)


def absolute(name: str, path: Path) -> str:
    """The absolute name of a module that `path` names, perhaps relative to its own package."""
    relative = name.lstrip(".")
    dots = len(name) - len(relative)
    if not dots:
        return name
    parents = path.parent.parts[: len(path.parent.parts) - (dots - 1)]
    return ".".join([*parents, *([relative] if relative else [])])


def declarations_of(module: str) -> list[Path]:
    """The .pxd files that Cython reads for a module: its own and those of the packages around it."""
    parts = module.split(".")
    if parts[0] not in PACKAGES:
        return []
    candidates = [Path(*parts).with_suffix(".pxd")]
    candidates += [Path(*parts[:length], "__init__.pxd") for length in range(1, len(parts) + 1)]
    return [path for path in candidates if path.is_file()]
