"""Builds the Cython extensions; everything else about the package is in pyproject.toml.

Environment:
    KCORE_SANITIZE=address|thread   instrumented build (AddressSanitizer + UBSan, or ThreadSanitizer)
    KCORE_TRACE=1                   line tracing, for coverage of .pyx files
    KCORE_SYMBOLS=1                 release build that keeps its symbols, for perf and gdb
    KCORE_ONLY=kcore.record,...     build only the extensions under these packages
    KCORE_JOBS=N                    processes and threads to build with. Default: the number of cores
    KCORE_PROGRESS=N|off            file descriptor for the progress line. Default: stderr, or the terminal under pip
    KCLI_BUILD_CACHE=DIR|off        cache of built extensions. Default: ~/.cache/kcli/extensions

`setup.py build_ext --inplace` puts each extension beside its .pyx and removes extensions whose .pyx is gone.
`build_extensions` has the steps.
"""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import setup

# Installers run this file without its directory on the path.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from build_extensions.command import BuildExtensions, extensions

setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExtensions})
