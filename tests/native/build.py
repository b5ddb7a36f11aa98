"""Builds the native probes of the tests: extensions that use the agreed .pxd interfaces as the server's own code does.

They are compiled against the checkout, instrumented when KCORE_SANITIZE says so, into `build/tests`, and only when a
source or an interface has changed.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build" / "tests"

SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"],
    "thread": ["-fsanitize=thread", "-fno-omit-frame-pointer"],
}

BUILD = """
import sys
from Cython.Build import cythonize
from setuptools import Distribution, Extension
name, source, output, *flags = sys.argv[1:]
extension = Extension(name, [source], language="c++", extra_compile_args=["-std=c++17", *flags], extra_link_args=flags,
                      include_dirs=["kcore/platform", "kcore/record"])
directives = {"language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True}
modules = cythonize([extension], build_dir=output, include_path=["."], quiet=True, compiler_directives=directives)
command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
command.build_lib, command.build_temp = output, output + "/temporary"
command.ensure_finalized()
command.run()
"""


def load(name: str) -> ModuleType:
    """The built module of `tests/native/<name>.pyx`."""
    sanitizer = os.environ.get("KCORE_SANITIZE", "")
    output = OUTPUT / (sanitizer or "release")
    arguments = [name, f"tests/native/{name}.pyx", str(output.relative_to(ROOT)), *SANITIZERS.get(sanitizer, [])]
    output.mkdir(parents=True, exist_ok=True)
    with (output / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "-c", BUILD, *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"the native probe {name} was not built:\n{done.stdout}\n{done.stderr}")
    [built] = output.glob(f"{name}.*.so")
    spec = importlib.util.spec_from_file_location(name, built)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
