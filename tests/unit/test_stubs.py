"""The .pyi beside a .pyx says what the built extension has: no more, and no less of what is public."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for path in (ROOT / "kcore").rglob("*.pyx"))
# The stub of a .py, whose methods are made at run time, is held to them by a test of its own (client/aio).
STUBS = sorted(path for path in (ROOT / "kcore").rglob("*.pyi") if not path.with_suffix(".py").exists())
# A Python face: a class, a def, a cpdef or an assignment at module level.
PYTHON_FACE = re.compile(r"^(?:class|def|async def|cpdef|cdef class|[A-Z_]+ *[:=])", re.MULTILINE)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def declared(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """What a stub's body declares, by name; imports and private names aside."""
    names: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = node
        elif isinstance(node, ast.Assign):
            names.update({target.id: node for target in node.targets if isinstance(target, ast.Name)})
    return names


def public_members(module: ModuleType) -> set[str]:
    """What a module itself defines for others, judged by where it says it comes from."""
    found = set()
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__:
            found.add(name)
    return found


@pytest.mark.parametrize("source", SOURCES, ids=module_of)
def test_extension_with_a_python_face_has_a_stub(source: Path) -> None:
    if PYTHON_FACE.search(source.read_text()):
        assert source.with_suffix(".pyi").exists(), f"{source.relative_to(ROOT)} has no .pyi"


@pytest.mark.parametrize("stub", STUBS, ids=module_of)
def test_stub_agrees_with_its_module(stub: Path) -> None:
    assert stub.with_suffix(".pyx").exists(), f"{stub.relative_to(ROOT)} describes no .pyx"
    module = importlib.import_module(module_of(stub))
    names = declared(ast.parse(stub.read_text()).body)
    missing = [name for name in names if not name.startswith("_") and not hasattr(module, name)]
    for name, node in names.items():
        if isinstance(node, ast.ClassDef) and hasattr(module, name):
            built = getattr(module, name)
            missing += [f"{name}.{member}" for member in declared(node.body) if not hasattr(built, member)]
    assert not missing, f"declared, but not there: {', '.join(missing)}"
    undeclared = public_members(module) - set(names)
    assert not undeclared, f"public, but not declared: {', '.join(sorted(undeclared))}"
