"""Writes admin.pyi from the synchronous classes: `python -m kcore.client.aio.admin_stub >kcore/client/aio/admin.pyi`.

Every public method of Admin becomes a coroutine of AsyncAdmin with the same parameters and result. A test compares the
committed file with this output.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys

from kcore.client.admin.admin import Admin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

OWN = {"close", "over"}
LINE_LENGTH = 120
HEAD = """\
class AsyncAdmin:
    def __init__(self, config: ClientConfig | Mapping[str, Any] | None = None, **keywords: Any) -> None: ...
    async def close(self) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *exception: object) -> None: ...
"""
HEAD_IMPORTS = {
    "ClientConfig": "kcore.client.config.client_config",
    "Mapping": "collections.abc",
    "Any": "typing",
    "Self": "typing",
}


def methods() -> Iterator[tuple[str, FunctionType]]:
    """Yield Admin's public methods, subject by subject, each in the order of its file."""
    seen = set(OWN)
    for subject in reversed(Admin.__mro__):
        for name, member in vars(subject).items():
            if inspect.isfunction(member) and not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, member


def imported_names(module: str) -> dict[str, str]:
    """Return the names that a module imports or defines, with the module to import each from."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    names = {node.name: module for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        # Assignments such as `Failure = ...`.
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = module
    for found in ast.walk(tree):
        if isinstance(found, ast.ImportFrom) and found.module is not None:
            names.update(dict.fromkeys((alias.name for alias in found.names), found.module))
    return names


def written_default(value: object) -> str:
    """Return a default as written in stubs: `...` unless it is a simple value."""
    is_plain = value is None or type(value) in (bool, int, str) or (type(value) is tuple and not value)
    return repr(value) if is_plain else "..."


def signature(name: str, function: FunctionType) -> str:
    """Return a method's declaration, on several lines if it is too long for one."""
    written = inspect.signature(function)
    parameters = []
    is_keyword_only = False
    for parameter in written.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword_only:
            is_keyword_only = True
            parameters.append("*")
        annotation = f": {parameter.annotation}" if parameter.annotation is not parameter.empty else ""
        default = "" if parameter.default is parameter.empty else f" = {written_default(parameter.default)}"
        parameters.append(f"{parameter.name}{annotation}{default}")
    head, tail = f"    async def {name}(", f") -> {written.return_annotation}: ..."
    line = f"{head}{', '.join(parameters)}{tail}"
    if len(line) <= LINE_LENGTH:
        return line
    middle = f"        {', '.join(parameters)}"
    if len(middle) <= LINE_LENGTH:
        return f"{head}\n{middle}\n    {tail}"
    return "\n".join([head, *(f"        {each}," for each in parameters), f"    {tail}"])


def stub() -> str:
    """Return the text of the whole file."""
    lines, sources = [], dict(HEAD_IMPORTS)
    known: dict[str, str] = {}
    for name, function in methods():
        known |= imported_names(function.__module__)
        line = signature(name, function)
        lines.append(line)
        for word in re.findall(r"\b[A-Z]\w+", line):
            if word in known:
                sources[word] = known[word]
    modules: dict[str, set[str]] = {}
    for word, module in sources.items():
        modules.setdefault(module, set()).add(word)
    standard = sorted(module for module in modules if not module.startswith("kcore"))
    ours = sorted(module for module in modules if module.startswith("kcore"))
    blocks = [
        "\n".join(f"from {module} import {', '.join(sorted(modules[module]))}" for module in group)
        for group in (standard, ours)
    ]
    return "\n\n".join(blocks) + "\n\n" + HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(stub())
