"""The files of the checkout that a file is made of or runs, transitively: what a recorded run of it depends on.

Read from the sources, without importing them:
- Python: imports at any level, conftest.py of the directory and of those above it;
- Cython: imports, cimports, includes and C headers; a module counts with its .pyx, .pxd and .py;
- programs: `"-m", "package"` in a list, and names of our modules in strings, such as those given to `import_module`.

A module that imports by a computed name counts with everything in its directory and in the packages that it names.
Files beside a module that are no sources of modules (TOML, JSON, Java) count with it. The result may be larger than
what is really used, never smaller; a program that is started in another way is a root of its own (suites.py).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

PACKAGES = ("kcore", "kcli", "kspark", "tests", "pyspark_kcli", "pyspark_kcli_log")
MODULE_SUFFIXES = (".py", ".pyx", ".pxd")
NATIVE_SUFFIXES = (".pyx", ".pxd", ".h")
NO_SOURCES = (".pyi", ".so", ".pyc")
# Written by runs of tests: ledgers, and the records in tests/.
RECORDS = (".jsonl", "durations.json", "unsteady.txt")
NAME = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)+\.?")
CYTHON_FROM = re.compile(r"^\s*from\s+([\w.]+)\s+c?import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)
CYTHON_IMPORT = re.compile(r"^\s*c?import\s+([\w., ]+)", re.MULTILINE)
HEADER = re.compile(r'^\s*(?:cdef\s+extern\s+from|include|#\s*include)\s*"([\w./]+)"', re.MULTILINE)
WORD = re.compile(r"\w+")


class Sources:
    """The import graph of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Methods are cached per object.
        self.files_of = cache(self._files_of)

    def closure(self, roots: Iterable[Path], leaves: Collection[Path] = ()) -> set[Path]:
        """`roots` are files and directories; a directory counts with all its files, a leaf without what it imports."""
        waiting = [file for root in roots for file in self.under(root)]
        found: set[Path] = set()
        while waiting:
            file = waiting.pop()
            if file not in found:
                found.add(file)
                waiting.extend(self.files_of(file) - found if file not in leaves else ())
        return found

    def under(self, path: Path) -> Iterator[Path]:
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from (file for file in path.rglob("*") if is_source(file))

    def _files_of(self, file: Path) -> set[Path]:
        """What a file names itself, and what belongs to it in any case."""
        if file.suffix not in (*MODULE_SUFFIXES, ".h"):
            return set()
        text = file.read_text()
        found = set(self._beside(file))
        if file.suffix != ".h":
            found |= self._python(file, text) if file.suffix == ".py" else self._cython(file, text)
        for name in HEADER.findall(text) if file.suffix != ".py" else ():
            found |= {header for package in ("kcore", "kspark") for header in self._named(package, Path(name).name)}
        return found

    def _beside(self, file: Path) -> Iterator[Path]:
        """The other halves of a module, packages and conftest.py above it, data in its directory."""
        if file.suffix in MODULE_SUFFIXES:
            yield from self._halves(file.with_suffix(""))
        for directory in file.parents:
            if directory == self.root:
                break
            yield from (path for name in ("__init__.py", "conftest.py") if (path := directory / name).is_file())
        yield from self._data(file.parent)

    @staticmethod
    @cache
    def _data(directory: Path) -> tuple[Path, ...]:
        return tuple(path for path in directory.iterdir() if is_source(path) and path.suffix not in MODULE_SUFFIXES)

    @cache  # noqa: B019 - the graph lives as long as the process
    def _named(self, package: str, name: str) -> tuple[Path, ...]:
        return tuple((self.root / package).rglob(name))

    @staticmethod
    def _halves(stem: Path) -> Iterator[Path]:
        yield from (path for suffix in MODULE_SUFFIXES if (path := stem.with_name(stem.name + suffix)).is_file())

    def module(self, name: str) -> set[Path]:
        """The files of a module, or of a package's __init__; none where that is nothing of ours."""
        parts = name.split(".")
        if parts[0] not in PACKAGES:
            return set()
        stem = self.root.joinpath(*parts)
        return {*self._halves(stem), *self._halves(stem / "__init__")}

    def _python(self, file: Path, text: str) -> set[Path]:
        tree = ast.parse(text)
        prose = docstrings(tree)
        found: set[Path] = set()
        computed = False
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found |= self.module(alias.name)
            elif isinstance(node, ast.ImportFrom):
                home = self._absolute(file, node.level, node.module or "")
                found |= self._members(home, [alias.name for alias in node.names])
            elif isinstance(node, ast.List | ast.Tuple):
                found |= self._programs(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                found |= self._in_text(node.value)
            elif isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                computed = computed or name in ("import_module", "__import__")
        if computed and file.parent != self.root:
            found |= set(self.under(file.parent))
        return found

    def _programs(self, node: ast.List | ast.Tuple) -> set[Path]:
        words = [one.value if isinstance(one, ast.Constant) else None for one in node.elts]
        names = [name for option, name in pairwise(words) if option == "-m"]
        return {
            path
            for name in names
            if isinstance(name, str)
            for path in (*self.module(name), *self.module(f"{name}.__main__"))
        }

    def _in_text(self, text: str) -> set[Path]:
        """Modules that a string names; a name that ends with a dot is the beginning of computed ones."""
        found: set[Path] = set()
        for name in NAME.findall(text):
            if name.endswith("."):
                found |= set(self.under(self.root.joinpath(*name[:-1].split("."))))
            else:
                home, _, member = name.rpartition(".")
                found |= self.module(name) | self._members(home, [member])
                found |= self.module(f"{name}.__main__")
        return found

    def _cython(self, file: Path, text: str) -> set[Path]:
        found: set[Path] = set()
        for name, members in CYTHON_FROM.findall(text):
            dots = len(name) - len(name.lstrip("."))
            home = self._absolute(file, dots, name.lstrip("."))
            found |= self._members(home, WORD.findall(members))
        for names in CYTHON_IMPORT.findall(text):
            for name in names.split(","):
                found |= self.module(name.split()[0]) if name.split() else set()
        return found

    def _absolute(self, file: Path, level: int, name: str) -> str:
        if level == 0:
            return name
        package = file.parent.relative_to(self.root).parts
        kept = package[: len(package) - (level - 1)]
        return ".".join((*kept, name) if name else kept)

    def _members(self, home: str, names: Iterable[str]) -> set[Path]:
        """`from home import names`: a name may be a module."""
        if home.split(".")[0] not in PACKAGES:
            return set()
        return self.module(home).union(*(self.module(f"{home}.{name}") for name in names))


def is_source(file: Path) -> bool:
    if file.suffix in NO_SOURCES or file.name.endswith(RECORDS) or "__pycache__" in file.parts:
        return False
    return file.is_file()


def docstrings(tree: ast.Module) -> set[int]:
    """The constants that are prose, by identity."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found.add(id(first.value))
    return found
