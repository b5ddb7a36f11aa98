"""A .pyi beside a .pyx declares what the built extension has: the same public names, members and signatures.

Names are compared with the built module. Signatures are compared with the .pyx source, because Cython keeps none for
`__init__` of an extension type.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for path in (ROOT / "kcore").rglob("*.pyx"))
# The stub of a .py, whose methods are created at run time, is compared with it by a test of its own (client/aio).
STUBS = sorted(path for path in (ROOT / "kcore").rglob("*.pyi") if not path.with_suffix(".py").exists())
# A Python interface: a class, a def, a cpdef or an assignment at module level.
PYTHON_FACE = re.compile(r"^(?:(?:class|def|async def|cpdef|cdef class)\b|[A-Z_]+ *[:=])", re.MULTILINE)
CLASS = re.compile(r"(?:cdef |cpdef )?class (\w+)")
FUNCTION = re.compile(r"( *)(?:async )?(?:def|cpdef) [^(=]*?(\w+)\(")
# A constructor's arguments are those of `__init__`, or of `__cinit__` when there is no `__init__`.
CONSTRUCTORS = ("__init__", "__cinit__")

Functions = dict[str, list[ast.FunctionDef]]


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


# --- signatures ------------------------------------------------------------------------------------------------------


def split_at_commas(text: str) -> list[str]:
    """The parts of a parameter list; commas within brackets and quotes do not count."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        if character == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def python_parameter(text: str) -> str:
    """A Cython parameter without its type, as Python writes it."""
    left, equals, default = text.partition("=")
    left = re.sub(r"\[[^\]]*\]", "", left).partition(":")[0]
    left = re.sub(r" (?:not|or) None\s*$", "", left.rstrip())
    stars = "*" * (len(left) - len(left.lstrip("*")))
    name = re.findall(r"\w+|/", left)
    return f"{stars}{name[-1] if name else ''}{equals}{default.strip()}"


def header_end(text: str, start: int) -> int:
    """Where the bracket before `start` closes."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[start], 0)
        start += 1
    return start - 1


def functions_of_source(text: str) -> Functions:
    """The Python functions of a .pyx as stub functions: `name` or `Class.name`."""
    text = re.sub(r"(?m)(?<=[\s,(])#.*$", "", text)
    found: Functions = {}
    decorators: list[str] = []
    owner, position = "", 0
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        line = text[position:end]
        if line.lstrip().startswith("@"):
            decorators.append(line.strip())
        elif match := FUNCTION.match(line):
            start = position + match.end()
            stop = header_end(text, start)
            parameters = ", ".join(python_parameter(part) for part in split_at_commas(text[start:stop]))
            known = [name for name in decorators if name in ("@property", "@staticmethod", "@classmethod")]
            if match[1] == "":
                owner = ""
            if len(match[1]) in (0, 4) and not any(name.endswith((".setter", ".deleter")) for name in decorators):
                stub = ast.parse("\n".join([*known, f"def {match[2]}({parameters}): ..."])).body[0]
                assert isinstance(stub, ast.FunctionDef)
                found[f"{owner}.{match[2]}" if owner else match[2]] = [stub]
            decorators, end = [], text.find("\n", stop)
        elif match := CLASS.match(line):
            owner, decorators = match[1], []
        elif line.strip():
            decorators = []
            if not line.startswith((" ", ")", '"')):
                owner = ""
        position = end + 1
    return found


def functions_of_stub(text: str) -> Functions:
    """The functions that a stub declares; several of one name are overloads."""
    found: Functions = {}
    for node in ast.parse(text).body:
        members: list[tuple[str, ast.stmt]] = [("", node)]
        if isinstance(node, ast.ClassDef):
            members = [(f"{node.name}.", member) for member in node.body]
        for prefix, member in members:
            if isinstance(member, ast.FunctionDef) and not any(
                isinstance(decorator, ast.Attribute) for decorator in member.decorator_list
            ):
                found.setdefault(prefix + member.name, []).append(member)
    return found


def kind_of(function: ast.FunctionDef) -> str:
    """Property, static method, class method or nothing of these."""
    names = [decorator.id for decorator in function.decorator_list if isinstance(decorator, ast.Name)]
    return next((name for name in names if name in ("property", "staticmethod", "classmethod")), "function")


def parameters_of(function: ast.FunctionDef) -> list[tuple[str, str, ast.expr | None]]:
    """Kind, name and default of each parameter."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    found: list[tuple[str, str, ast.expr | None]] = [
        ("positional", argument.arg, default)
        for argument, default in zip(positional, [*defaults, *arguments.defaults], strict=True)
    ]
    if arguments.vararg is not None:
        found.append(("*", "", None))
    found += [
        ("keyword", argument.arg, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg is not None:
        found.append(("**", "", None))
    return found


def literal(default: ast.expr) -> object:
    """The value of a default; `...` for what is no literal."""
    try:
        return ast.literal_eval(default)
    except ValueError:
        return ...


def shown(function: ast.FunctionDef) -> str:
    return f"{kind_of(function)} ({ast.unparse(function.args)})"


def agree(source: ast.FunctionDef, stub: ast.FunctionDef) -> bool:
    """Whether a stub declares the kind, the parameters and, where both are literals, the defaults of a function.

    A stub may name the keywords that the source takes as `**`.
    """
    ours, theirs = parameters_of(source), parameters_of(stub)
    if ours[-1:] == [("**", "", None)] and ours[-1] not in theirs:
        del ours[-1]
        theirs = theirs[: len(ours)] + [parameter for parameter in theirs[len(ours) :] if parameter[0] != "keyword"]
    if kind_of(source) != kind_of(stub) or len(ours) != len(theirs):
        return False
    for (kind, name, default), (other_kind, other_name, other_default) in zip(ours, theirs, strict=True):
        if (kind, name) != (other_kind, other_name) or (default is None) != (other_default is None):
            return False
        if default is not None and other_default is not None:
            values = literal(default), literal(other_default)
            if ... not in values and values[0] != values[1]:
                return False
    return True


def disagreements(source: str, stub: str) -> Iterator[str]:
    """Each function of a .pyx whose signature its stub does not declare."""
    built, described = functions_of_source(source), functions_of_stub(stub)
    classes = {name for name, node in declared(ast.parse(stub).body).items() if isinstance(node, ast.ClassDef)}
    # Their members may be declared by the base class.
    derived = {node.name for node in ast.parse(stub).body if isinstance(node, ast.ClassDef) and node.bases}
    attributes = {
        f"{node.name}.{name}"
        for node in ast.parse(stub).body
        if isinstance(node, ast.ClassDef)
        for name, member in declared(node.body).items()
        if not isinstance(member, ast.FunctionDef)
    }
    for owner in classes:
        if f"{owner}.__init__" not in built and f"{owner}.__cinit__" in built:
            built[f"{owner}.__init__"] = built[f"{owner}.__cinit__"]
    for name, (function,) in built.items():
        owner, _, member = name.rpartition(".")
        if owner and owner not in classes:
            continue
        if name in described:
            if len(described[name]) == 1 and not agree(function, described[name][0]):
                yield f"{name} is {shown(function)}, declared as {shown(described[name][0])}"
        elif name in attributes:
            if kind_of(function) != "property":
                yield f"{name} is {shown(function)}, declared as an attribute"
        elif owner and owner not in derived and not member.startswith("_"):
            yield f"{name} is {shown(function)}, and is not declared"


# --- tests -----------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("stub", STUBS, ids=module_of)
def test_stub_declares_the_signatures_of_its_source(stub: Path) -> None:
    found = list(disagreements(stub.with_suffix(".pyx").read_text(), stub.read_text()))
    assert not found, "\n".join(found)


SOURCE = '''
cdef class Reader:
    """Reads."""

    def __cinit__(self, Disk disk not None, bytes name, *arguments, **options):
        pass

    @property
    def size(self):
        return 1

    @staticmethod
    def of(object names):  # any iterable
        return names

    cdef int native(self, int64_t offset) noexcept nogil:
        return 0

    def read(self, int64_t offset, const uint8_t[:] data=None, *, bint whole=False, int64_t limit=LIMIT):
        return 1


def parse(bytes body not None, int version, text="a, b",
          int16_t acks=-1) -> tuple:
    return body
'''
STUB = """
class Reader:
    def __init__(self, disk: Disk, name: bytes, *arguments: object, **options: object) -> None: ...
    @property
    def size(self) -> int: ...
    @staticmethod
    def of(names: Iterable[str]) -> list[str]: ...
    def read(self, offset: int, data: Buffer | None = None, *, whole: bool = False, limit: int = ...) -> int: ...
def parse(body: bytes, version: int, text: str = "a, b", acks: int = -1) -> tuple[int, int]: ...
"""


def test_signatures_of_a_right_stub_are_accepted() -> None:
    assert list(disagreements(SOURCE, STUB)) == []


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ("body: bytes, version: int", "version: int, body: bytes", "parse"),
        ("version: int,", "", "parse"),
        ('text: str = "a, b"', "text: str", "parse"),
        ("acks: int = -1", "acks: int = 0", "parse"),
        ('"a, b"', '"b"', "parse"),
        ("*, whole", "whole", "Reader.read"),
        ("limit: int = ...", "maximum: int = ...", "Reader.read"),
        ("    @property\n", "", "Reader.size"),
        ("    @staticmethod\n", "", "Reader.of"),
        ("name: bytes, *arguments", "*arguments", "Reader.__init__"),
        ("    @property\n    def size(self) -> int: ...\n", "", "Reader.size"),
        ("def of(names: Iterable[str]) -> list[str]: ...", "of: int", "Reader.of"),
    ],
)
def test_a_wrong_signature_is_found(right: str, wrong: str, named: str) -> None:
    assert STUB.count(right) == 1
    planted = STUB.replace(right, wrong).replace("    @staticmethod\n    of:", "    of:")
    (found,) = disagreements(SOURCE, planted)
    assert found.startswith(f"{named} is ")
