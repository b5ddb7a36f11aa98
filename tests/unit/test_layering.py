"""Every source file, Cython's too, keeps to the layers of ARCHITECTURE.md, and some packages have no import cycles.

import-linter reads .py files only. These tests check the imports and cimports of .py, .pyx, .pxd and .pyi files against
the same contract (pyproject.toml, `[[tool.importlinter.contracts]]`).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import\s+\(?([\w, ]*)|c?import\s+([\w., ]+))", re.MULTILINE)
TRIPLE_QUOTED = re.compile(r'"""(?:.|\n)*?"""')


class Layers:
    """The contract: the layer of each package of kcore, counted from the top, and the layers with imports inside."""

    def __init__(self, contract: dict[str, list[str]]) -> None:
        self.layer: dict[str, int] = {}
        self.open: set[int] = set()
        for number, layer in enumerate(contract["layers"]):
            if ":" in layer:
                self.open.add(number)
            for name in re.findall(r"\w+", layer):
                self.layer[name] = number

    def objection(self, importer: str, imported: str) -> str | None:
        """Why `importer` may not import `imported`, both full module names; None when it may."""
        if importer.startswith("kcore") and imported.startswith("kcli"):
            return "kcore may not import kcli"
        above, below = self.package(importer), self.package(imported)
        if above is None or below is None or above == below:
            return None
        for name in (above, below):
            if name not in self.layer:
                return f"kcore.{name} is in no layer of pyproject.toml"
        if self.layer[below] > self.layer[above]:
            return None
        if self.layer[below] == self.layer[above] and self.layer[above] in self.open:
            return None
        return f"kcore.{below} is not below kcore.{above}"

    @staticmethod
    def package(module: str) -> str | None:
        """The package of kcore that a module belongs to; None for kcore itself (`__version__`) and for others."""
        parts = module.split(".")
        return parts[1] if parts[0] == "kcore" and len(parts) > 1 and not parts[1].startswith("_") else None


def imports_of(path: Path, module: str) -> Iterator[str]:
    """Full names of what a source file imports or cimports."""
    source = path.read_text()
    is_package = path.stem == "__init__"
    if path.suffix in (".py", ".pyi"):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                yield from (name.name for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = absolute("." * node.level + (node.module or ""), module, is_package)
                yield from (f"{base}.{name.name}" for name in node.names)
        return
    for origin, names, modules in IMPORT.findall(TRIPLE_QUOTED.sub("", source)):
        if origin:
            base = absolute(origin, module, is_package)
            yield from (f"{base}.{name.split()[0]}" for name in names.split(",") if name.strip())
            yield base
        else:
            yield from (name.split()[0] for name in modules.split(",") if name.strip())


def absolute(name: str, module: str, is_package: bool) -> str:
    """`name` as written after `from`, leading dots resolved against the module that says it."""
    dots = len(name) - len(name.lstrip("."))
    if dots == 0:
        return name
    parts = module.split(".")
    kept = parts[: len(parts) - dots + (1 if is_package else 0)]
    return ".".join([*kept, *filter(None, [name[dots:]])])


def module_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def layers(checkout: Path) -> Layers:
    settings = tomllib.loads((checkout / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    return Layers(next(contract for contract in contracts if contract["id"] == "layers"))


def test_imports_go_to_lower_layers_only(checkout: Path, layers: Layers) -> None:
    broken = []
    for package in ("kcore", "kcli", "kspark"):
        for path in sorted((checkout / package).rglob("*.p[yx]*")):
            if path.suffix not in (".py", ".pyx", ".pxd", ".pyi"):
                continue
            module = module_of(path, checkout)
            for imported in sorted(set(imports_of(path, module))):
                objection = layers.objection(module, imported)
                if objection:
                    broken.append(f"{path.relative_to(checkout)} imports {imported}: {objection}")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("suffix", "line"),
    [
        (".pyx", "from kcore.server.broker cimport Broker\n"),
        (".pyx", "    cimport kcore.server.broker\n"),
        (".pxd", "from ..server cimport broker\n"),
        (".py", "from kcore.server.broker import Broker\n"),
        (".py", "def late():\n    import kcore.server.broker\n"),
        (".pyi", "from kcore import server\n"),
        (".py", "import kcli.cli\n"),
    ],
)
def test_an_import_of_a_higher_layer_is_found(tmp_path: Path, layers: Layers, suffix: str, line: str) -> None:
    source = tmp_path / f"log{suffix}"
    source.write_text(f'"""from kcore.client import nothing"""\n{line}')
    objections = [layers.objection("kcore.storage.log", name) for name in imports_of(source, "kcore.storage.log")]
    assert any(objections)


def test_a_package_without_a_layer_is_refused(layers: Layers) -> None:
    assert layers.objection("kcore.server.broker", "kcore.attic.log") == "kcore.attic is in no layer of pyproject.toml"


# Packages whose modules form no import cycle. Imports for type checkers and imports inside functions count too.
ACYCLIC = ("kcore/config", "kcore/coordinator/group")


def import_graph(package: Path, root: Path) -> dict[str, set[str]]:
    """The modules of a package, each with the modules of the package that it imports."""
    paths: dict[str, list[Path]] = {}
    for path in sorted(package.rglob("*.p[yx]*")):
        if path.suffix in (".py", ".pyx", ".pxd", ".pyi"):
            paths.setdefault(module_of(path, root), []).append(path)
    graph: dict[str, set[str]] = {}
    for module, sources in paths.items():
        names = {name for path in sources for name in imports_of(path, module)}
        found = {name if name in paths else name.rpartition(".")[0] for name in names}
        graph[module] = (found & paths.keys()) - {module}
    return graph


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in this order, the first one again at the end; empty if there are none."""
    done: set[str] = set()

    def search(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for imported in sorted(graph[module]):
            cycle = search(imported, [*path, module])
            if cycle:
                return cycle
        done.add(module)
        return []

    return next((cycle for module in sorted(graph) if (cycle := search(module, []))), [])


@pytest.mark.parametrize("package", ACYCLIC)
def test_packages_have_no_import_cycles(checkout: Path, package: str) -> None:
    cycle = cycle_in(import_graph(checkout / package, checkout))
    assert not cycle, " imports ".join(cycle)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("store.py", "from planted.log import Log\n"),
        ("store.py", "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from planted.log import Log\n"),
        ("store.py", "def open_log():\n    from planted import log\n"),
        ("store.pyx", "from planted.log cimport Log\n"),
    ],
)
def test_a_planted_cycle_is_seen(tmp_path: Path, name: str, source: str) -> None:
    package = tmp_path / "planted"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "log.py").write_text("from planted.store import Store\n")
    (package / name).write_text(source)
    cycle = ["planted.log", "planted.store", "planted.log"]
    assert cycle_in(import_graph(package, tmp_path)) == cycle
