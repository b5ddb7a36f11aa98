"""Builds the Cython extensions; everything else about the package stands in pyproject.toml.

Environment:
    KCORE_SANITIZE=address|thread   instrumented build (AddressSanitizer + UBSan, or ThreadSanitizer)
    KCORE_TRACE=1                   line tracing, for coverage of .pyx files
    KCORE_SYMBOLS=1                 release build that keeps its symbols, for perf and gdb
    KCORE_ONLY=kcore.record,...     build only the extensions under these packages
    KCORE_JOBS=N                    processes and threads to build with (the number of cores when unset)

`setup.py build_ext --inplace` leaves each extension beside its .pyx, says how far it is on stderr, and removes
extensions whose .pyx is gone: Python would import them before a .py of the same name.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler.Errors import CompileError
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

# Relative on purpose: setuptools runs this file in its own directory, and refuses absolute paths.
PACKAGES = [Path(name) for name in ("kcore", "kspark") if Path(name).is_dir()]
JOBS = int(os.environ.get("KCORE_JOBS") or os.cpu_count() or 1)
TRACE = os.environ.get("KCORE_TRACE", "") not in ("", "0")
SYMBOLS = os.environ.get("KCORE_SYMBOLS", "") not in ("", "0")

# What Cython generates is not ours to mend; tests/unit/test_headers.py compiles our own headers with -Werror.
WARNINGS = ["-Wall", "-Wextra"]
GENERATED_CODE_NOISE = [
    "-Wno-unused-parameter",
    "-Wno-unused-function",
    "-Wno-missing-field-initializers",
    "-Wno-cast-function-type",
]
SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"],
    "thread": ["-fsanitize=thread", "-fno-omit-frame-pointer"],
}


def compile_flags() -> tuple[list[str], list[str]]:
    """The compiler's and the linker's flags of the build that the environment asks for."""
    sanitizer = os.environ.get("KCORE_SANITIZE", "")
    if sanitizer and sanitizer not in SANITIZERS:
        raise SystemExit(
            f"KCORE_SANITIZE={sanitizer}: must be one of {', '.join(SANITIZERS)}, or unset for a release build"
        )
    flags = ["-std=c++17", "-fvisibility=hidden", *WARNINGS, *GENERATED_CODE_NOISE]
    if sanitizer:
        return [*flags, "-O1", "-g", *SANITIZERS[sanitizer]], ["-pthread", *SANITIZERS[sanitizer]]
    if SYMBOLS:
        return [*flags, "-O3", "-g", "-fno-omit-frame-pointer"], ["-pthread"]
    return [*flags, "-O3", "-g0"], ["-pthread", "-Wl,-s"]


def module_name(source: Path) -> str:
    return ".".join(source.with_suffix("").parts)


def is_wanted(module: str) -> bool:
    only = [name for name in os.environ.get("KCORE_ONLY", "").split(",") if name]
    return not only or any(module == name or module.startswith(name + ".") for name in only)


def extensions() -> list[Extension]:
    """One extension for each .pyx."""
    compile_args, link_args = compile_flags()
    header_directories = sorted({str(path.parent) for package in PACKAGES for path in package.rglob("*.h")})
    sources = sorted(path for package in PACKAGES for path in package.rglob("*.pyx"))
    return [
        Extension(
            module_name(source),
            [str(source)],
            language="c++",
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            define_macros=[("CYTHON_TRACE_NOGIL", "1")] if TRACE else [],
            include_dirs=header_directories,
        )
        for source in sources
        if is_wanted(module_name(source))
    ]


class Progress:
    """One line that says how far the build is; rewritten in place on a terminal, sparse elsewhere.

    Only what is compiled counts. bin/prepare keeps what the compilers say in a file, and hands the terminal over as the
    descriptor KCORE_PROGRESS.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.lock = threading.Lock()
        self.stream = os.fdopen(int(os.environ.get("KCORE_PROGRESS", "2")), "w", closefd=False)

    def finished(self, module: str) -> None:
        with self.lock:
            self.done += 1
            last = self.done == self.total
            line = f"kcli: built {self.done}/{self.total} {module}"
            if self.stream.isatty():
                print(f"\r\033[K{line}", end="\n" if last else "", file=self.stream, flush=True)
            elif last or self.done % 10 == 0:
                print(line, file=self.stream, flush=True)


class BuildExtensions(build_ext):
    """setuptools' command, with our translation step, in parallel and with progress."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.parallel is None and JOBS > 1:
            self.parallel = JOBS

    def run(self) -> None:
        if self.inplace:
            remove_orphans()
        super().run()

    def build_extensions(self) -> None:
        self.stale = {ext.name for ext in self.extensions if self.is_stale(ext)}
        self.progress = Progress(len(self.stale))
        super().build_extensions()

    def is_stale(self, ext: Extension) -> bool:
        """As setuptools judges it: older than what it is made of."""
        sources = [*ext.sources, *ext.depends]
        return bool(self.force) or newer_group(sources, self.get_ext_fullpath(ext.name), "newer")

    def build_extension(self, ext: Extension) -> None:
        super().build_extension(ext)
        if ext.name in self.stale:
            self.progress.finished(ext.name)


def remove_orphans() -> None:
    """Removes the built extensions whose source no longer exists."""
    for package in PACKAGES:
        for built in package.rglob("*.so"):
            if not built.with_name(built.name.partition(".")[0] + ".pyx").exists():
                built.unlink()


def translated() -> list[Extension]:
    """The extensions with their C++ made from the .pyx; nothing is translated for commands that build nothing."""
    if not {"build_ext", "build", "bdist_wheel", "install", "develop", "editable_wheel"} & set(sys.argv):
        return extensions()
    wanted = extensions()
    try:
        return cythonize(
            wanted,
            build_dir="build/cython",
            nthreads=JOBS if len(wanted) > 1 and JOBS > 1 else 0,
            force="--force" in sys.argv or None,
            compiler_directives={
                "language_level": 3,
                "boundscheck": False,
                "wraparound": False,
                "cdivision": True,
                "initializedcheck": False,
                "embedsignature": False,
                "linetrace": TRACE,
            },
        )
    except CompileError as error:
        # Cython has already printed what is wrong, with the lines it is wrong in.
        raise SystemExit(f"cython: {error} does not compile") from None


setup(ext_modules=translated(), cmdclass={"build_ext": BuildExtensions})
