"""Runs Cython: .pyx to C++ under build/cython, each file with its translation key in the last line.

The user's cache keeps the C++ too: builds with other flags, such as the sanitizers', do not translate again.

Cython reads every cimported .pxd again for each module, which is most of its time. Here one process reads all .pxd
files once and then forks a child for each module: the child starts with the declarations in memory, and nothing that
one module does reaches another. This uses Cython's internals; if they are not as expected, `cythonize` does the work.
"""

from __future__ import annotations

import gc
import os
import select
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from build_extensions import flags, keys, sources
from build_extensions.cache import ExtensionCache, write_whole

OUTPUT = Path("build", "cython-trace" if flags.TRACE else "cython")
MARK = b"\n/* translated from "


def cpp_file(source: Path) -> Path:
    return OUTPUT / source.with_suffix(".cpp")


def is_translated(source: Path, cache: ExtensionCache) -> bool:
    """Whether the C++ exists, or could be taken from the cache, for the .pyx and the .pxd files as they are."""
    key = keys.translation_key(source)
    if not ends_with_mark(source, mark_of(key)):
        content = cache.get(key)
        if content is None:
            return False
        write_whole(cpp_file(source), content)
    return True


def ends_with_mark(source: Path, mark: bytes) -> bool:
    try:
        with cpp_file(source).open("rb") as file:
            file.seek(-len(mark), os.SEEK_END)
            return file.read() == mark
    except OSError:
        return False


def mark_of(key: str) -> bytes:
    return MARK + key.encode() + b" */\n"


def translate(wanted: list[Path], jobs: int, cache: ExtensionCache, report: Callable[[Path], None]) -> None:
    """Translates these .pyx files; `report` is called as each is done. Cython prints what is wrong with one."""
    key_of = {source: keys.translation_key(source) for source in wanted}
    # A large module that starts last would keep the others waiting.
    ordered = sorted(wanted, key=lambda source: -source.stat().st_size)
    try:
        context = warm_context({path for source in wanted for path in sources.files_of(source)})
    except Exception:
        traceback.print_exc()
        print("Cython's internals are not as expected: translating each module from nothing")
        context = None
    gc.collect()
    gc.freeze()
    failed = []

    def work(source: Path) -> None:
        translated = translate_one(source, context)
        # A key that was computed before a file changed is not that of the C++.
        unchanged = keys.translation_key(source) == key_of[source]
        content = translated + mark_of(key_of[source] if unchanged else "files that changed meanwhile")
        write_whole(cpp_file(source), content)
        if unchanged:
            cache.put(key_of[source], content)

    for source, status in in_children(ordered, jobs, work):
        report(source)
        if status:
            failed.append(source)
    gc.unfreeze()
    if failed:
        raise SystemExit("cython: " + ", ".join(str(source) for source in sorted(failed)) + " did not compile")


def in_children(items: list[Path], jobs: int, work: Callable[[Path], None]) -> Iterator[tuple[Path, int]]:
    """Calls `work` for each item in a process of its own, `jobs` at a time. Yields the item and its exit status."""
    waiting = list(reversed(items))
    # By the pipe that ends with the child.
    running: dict[int, tuple[int, Path]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                item = waiting.pop()
                pid, end = forked(work, item)
                running[end] = pid, item
            for end in select.select([*running], [], [])[0]:
                os.close(end)
                pid, item = running.pop(end)
                yield item, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        for pid, _ in running.values():
            os.waitpid(pid, 0)


def forked(work: Callable[[Path], None], item: Path) -> tuple[int, int]:
    """A child that does the work: its process id, and the reading end of a pipe that it holds open."""
    sys.stdout.flush()
    sys.stderr.flush()
    end, held = os.pipe()
    pid = os.fork()
    if pid:
        os.close(held)
        return pid, end
    # The process ends soon and gives its memory back then.
    gc.disable()
    status = 1
    try:
        work(item)
        status = 0
    except SystemExit as error:
        print(error, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def translate_one(source: Path, context: Any) -> bytes:
    """The C++ of a module."""
    from Cython.Compiler.Main import compile_single

    OUTPUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUTPUT, prefix=".new.") as directory:
        output = Path(directory, source.with_suffix(".cpp").name)
        options = compilation_options(output)
        if context is not None:
            context.options = options
        result = compile_single(str(source), options, full_module_name=sources.module_name(source), context=context)
        if result.num_errors:
            raise SystemExit(f"{source} does not compile")
        if context is not None:
            check_dependencies(source, context)
        return output.read_bytes()


def check_dependencies(source: Path, context: Any) -> None:
    """Fails when Cython has read a .pxd file that `sources` does not count among the module's."""
    known = {str(path) for path in sources.files_of(source)}
    opened = {str(path) for module in context.pxds for path in sources.declarations_of(module)}
    missed = sorted(opened - known)
    if missed:
        raise SystemExit(f"{source} depends on {', '.join(missed)}, which build_extensions/sources.py did not find")


def compilation_options(output: Path | None = None) -> Any:
    from Cython.Compiler.Options import CompilationOptions

    return CompilationOptions(
        include_path=["."],
        compiler_directives=flags.directives(),
        cplus=True,
        output_file=str(output) if output else None,
    )


def warm_context(files: set[Path]) -> Any:
    """Cython's context with the .pxd files among these loaded, which gives each module those that it cimports."""
    from Cython.Compiler import Errors
    from Cython.Compiler.Main import Context

    class WarmContext(Context):
        """Cython puts the inline functions of every loaded .pxd (`pxds`) into the module that it compiles.

        So `pxds` is emptied when all are loaded, and filled again with what the module reaches: `reached` holds, for
        each .pxd, the modules that it looked up, in order.
        """

        def __init__(self, *arguments: Any, **named: Any) -> None:
            self.loaded: dict[str, Any] = {}
            self.reached: dict[str, list[str]] = {}
            self.lookups: list[list[str]] = [[]]
            super().__init__(*arguments, **named)

        def find_module(self, *arguments: Any, **named: Any) -> Any:
            scope = super().find_module(*arguments, **named)
            self.lookups[-1].append(scope.qualified_name)
            if len(self.lookups) == 1:
                self.take(scope.qualified_name)
            return scope

        def process_pxd(self, source_desc: Any, scope: Any, module_name: str) -> Any:
            self.lookups.append([])
            try:
                return super().process_pxd(source_desc, scope, module_name)
            finally:
                self.reached[module_name] = self.lookups.pop()

        def take(self, module: str) -> None:
            content = self.loaded.pop(module, None)
            if content is not None:
                for other in self.reached.get(module, ()):
                    self.take(other)
                self.pxds[module] = content

        def forget(self) -> None:
            self.loaded, self.pxds = self.pxds, {}

    context = WarmContext.from_options(compilation_options())
    Errors.init_thread()
    Errors.open_listing_file(None)
    for path in sorted(files):
        if path.suffix == ".pxd":
            context.find_module(sources.module_name(path))
    if Errors.get_errors_count():
        raise SystemExit("cython: a .pxd file does not compile")
    context.forget()
    return context
