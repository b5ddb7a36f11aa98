"""Our own C is free of warnings; what Cython generates is compiled more leniently (setup.py)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted(path.relative_to(ROOT) for path in (ROOT / "kcore").rglob("*.h"))
PROGRAMS = sorted(path.relative_to(ROOT) for path in (ROOT / "perf").rglob("*.c"))
STRICT = ["-Wall", "-Wextra", "-Werror", "-Wshadow", "-fsyntax-only"]


def compile_strictly(compiler: str, *arguments: str, source: str | None = None) -> None:
    done = subprocess.run(
        [compiler, *STRICT, *arguments], cwd=ROOT, input=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("c++")
@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_header_stands_alone_as_cpp(header: Path) -> None:
    include = f'#include "{header}"\n#include "{header}"\n'
    compile_strictly("c++", "-std=c++17", "-x", "c++", "-I.", f"-I{header.parent}", "-", source=include)


@pytest.mark.needs("cc")
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_program_compiles_as_c(program: Path) -> None:
    compile_strictly("cc", "-std=gnu11", f"-I{program.parent}", str(program))


def test_there_are_headers() -> None:
    assert HEADERS
