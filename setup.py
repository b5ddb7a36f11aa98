"""Builds the Cython extensions; everything else about the package stands in pyproject.toml.

Environment:
    KCORE_SANITIZE=address|thread   instrumented build (AddressSanitizer + UBSan, or ThreadSanitizer)
    KCORE_TRACE=1                   line tracing, for coverage of .pyx files
    KCORE_ONLY=kcore.record,...     build only the extensions under these packages
"""

from __future__ import annotations

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path(__file__).resolve().parent
WARNINGS = ["-Wall", "-Wextra"]
# What Cython generates is not ours to mend; our own C and C++ headers are compiled with -Werror by `tests/unit/test_headers.py`.
GENERATED_CODE_NOISE = ["-Wno-unused-parameter", "-Wno-unused-function", "-Wno-missing-field-initializers", "-Wno-cast-function-type"]

SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"],
    "thread": ["-fsanitize=thread", "-fno-omit-frame-pointer"],
}


def compile_flags() -> tuple[list[str], list[str]]:
    """The compiler's and the linker's flags of the build that the environment asks for."""
    sanitizer = os.environ.get("KCORE_SANITIZE", "")
    if sanitizer and sanitizer not in SANITIZERS:
        raise SystemExit(f"KCORE_SANITIZE={sanitizer}: must be one of {', '.join(SANITIZERS)}, or unset for a release build")
    flags = ["-std=c++17", "-fvisibility=hidden", *WARNINGS, *GENERATED_CODE_NOISE]
    if sanitizer:
        return [*flags, "-O1", "-g", *SANITIZERS[sanitizer]], SANITIZERS[sanitizer]
    return [*flags, "-O3", "-g0"], ["-pthread", "-Wl,-s"]


def is_wanted(module: str) -> bool:
    only = [name for name in os.environ.get("KCORE_ONLY", "").split(",") if name]
    return not only or any(module == name or module.startswith(name + ".") for name in only)


def extensions() -> list[Extension]:
    compile_args, link_args = compile_flags()
    macros = [("CYTHON_TRACE_NOGIL", "1")] if os.environ.get("KCORE_TRACE") else []
    sources = sorted(path.relative_to(ROOT) for package in ("kcore", "kspark") for path in (ROOT / package).rglob("*.pyx"))
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            language="c++",
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            define_macros=macros,
            include_dirs=["kcore/platform", "kcore/record"],
        )
        for source in sources
        if is_wanted(".".join(source.with_suffix("").parts))
    ]


setup(
    ext_modules=cythonize(
        extensions(),
        build_dir="build/cython",
        nthreads=0,
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "embedsignature": False,
            "linetrace": bool(os.environ.get("KCORE_TRACE")),
        },
    ),
)
