"""Python.h and the C++ library's headers, compiled once for each set of flags. GCC only; other compilers do without.

They stay in build/precompiled. A compiler that cannot use the compiled form reads the header itself.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from setuptools import Extension

from build_extensions import keys
from build_extensions.cache import write_whole

HEADER = Path("build_extensions", "first.h")
# Fewer extensions than this do not repay the compilation of the header.
WORTHWHILE = 8


class PrecompiledHeaders:
    def __init__(self, compiler: Any, wanted: list[Extension]) -> None:
        """Starts to compile what these extensions need; `wait` returns when it is done."""
        self.headers: dict[tuple[str, ...], Path] = {}
        self.running: list[tuple[subprocess.Popen[bytes], Path, Path]] = []
        command = list(getattr(compiler, "compiler_so_cxx", None) or compiler.compiler_so)
        every = [tuple(ext.extra_compile_args) for ext in wanted]
        used = sorted({flags for flags in every if every.count(flags) >= WORTHWHILE})
        if used and is_gcc(command):
            for flags in used:
                self.prepare([*command, *(f"-I{path}" for path in compiler.include_dirs), *flags], flags)

    def prepare(self, command: list[str], flags: tuple[str, ...]) -> None:
        key = keys.digest([command, keys.file_digest(HEADER), *keys.tools_identity()])
        place = Path("build", "precompiled", key)
        header, compiled = place / HEADER.name, place / (HEADER.name + ".gch")
        self.headers[flags] = header
        if not compiled.is_file():
            write_whole(header, HEADER.read_bytes())
            new = place / f"new.{os.getpid()}.gch"
            process = subprocess.Popen([*command, "-x", "c++-header", str(header), "-o", str(new)])
            self.running.append((process, new, compiled))

    def wait(self) -> None:
        for process, new, compiled in self.running:
            if process.wait() == 0:
                os.replace(new, compiled)
        self.running = []

    def flags_for(self, ext: Extension) -> list[str]:
        """The flags that include the header before everything else."""
        header = self.headers.get(tuple(ext.extra_compile_args))
        return ["-include", str(header)] if header else []


def is_gcc(command: list[str]) -> bool:
    """Whether this is GCC, perhaps behind a wrapper such as ccache."""
    return any("gcc version" in keys.said_by([*command[:words], "-v"]) for words in (1, 2))
