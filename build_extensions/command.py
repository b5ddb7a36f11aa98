"""setuptools' build_ext: takes an extension from where it is already, or translates and compiles it, with progress.

An extension whose content key is that of its sources stays. Others come from the checkout (a wheel is made of the
extensions beside the .pyx files), from the user's cache, or from the compiler. A source that changes while the build
runs makes it look again, so that an extension always has the key of what it was made of.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from setuptools import Extension
from setuptools.command.build_ext import build_ext

from build_extensions import flags, keys, sources, translation
from build_extensions.cache import ExtensionCache, directory, write_whole
from build_extensions.precompiled import PrecompiledHeaders

JOBS = int(os.environ.get("KCORE_JOBS") or os.cpu_count() or 1)
ATTEMPTS = 5


def extensions() -> list[Extension]:
    """One extension for each .pyx that KCORE_ONLY does not leave out."""
    only = [name for name in os.environ.get("KCORE_ONLY", "").split(",") if name]
    header_directories = sorted({str(path.parent) for path in sources.headers()})
    found = []
    for source in sources.pyx_files():
        name = sources.module_name(source)
        if not only or flags.is_under(name, only):
            compile_flags, link_flags = flags.flags_of(name)
            found.append(
                Extension(
                    name,
                    [str(source)],
                    language="c++",
                    extra_compile_args=compile_flags,
                    extra_link_args=link_flags,
                    include_dirs=header_directories,
                )
            )
    return found


class Progress:
    """One line that says how far the build is; rewritten in place on a terminal, every tenth elsewhere.

    It goes to the descriptor KCORE_PROGRESS (bin/prepare keeps the compilers' messages in a file and passes the
    terminal), or to stderr. pip shows nothing of what a build prints, so the line goes to the terminal itself then.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stream, self.end = progress_stream()

    def start(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0

    def finished(self, name: object) -> None:
        with self.lock:
            self.done += 1
            self.show(f"kcli: {self.what} {self.done}/{self.total} {name}", self.done == self.total)

    def show(self, line: str, last: bool) -> None:
        if self.stream is None:
            return
        if self.stream.isatty():
            print(f"\r\033[K{line}", end=self.end if last else " ", file=self.stream, flush=True)
        elif last or self.done % 10 == 0:
            print(line, file=self.stream, flush=True)


def progress_stream() -> tuple[Any, str]:
    """Where progress goes, or None, and what ends its last line."""
    chosen = os.environ.get("KCORE_PROGRESS", "")
    if chosen == "off":
        return None, ""
    if chosen:
        return os.fdopen(int(chosen), "w", closefd=False), "\n"
    # Set for the build by pip and other installers of projects.
    if "_PYPROJECT_HOOKS_BUILD_BACKEND" in os.environ and not sys.stderr.isatty():
        try:
            # pip's own line ends after the build: it goes on in this one.
            return open("/dev/tty", "w"), " "
        except OSError:
            return None, ""
    return sys.stderr, "\n"


class BuildExtensions(build_ext):
    def finalize_options(self) -> None:
        super().finalize_options()
        if self.parallel is None and JOBS > 1:
            self.parallel = JOBS

    def run(self) -> None:
        self.beside_sources = bool(self.inplace)
        if self.beside_sources:
            remove_orphans()
        super().run()

    def copy_extensions_to_source(self) -> None:
        """Nothing: `build_extensions` has put them there."""

    def build_extensions(self) -> None:
        self.cache = ExtensionCache(directory())
        self.progress = Progress()
        every = {Path(ext.sources[0]): ext for ext in self.extensions}
        waiting = list(every)
        for _ in range(ATTEMPTS):
            self.key_of = {source: keys.extension_key(source) for source in waiting}
            to_build = [source for source in waiting if not self.take(source)]
            self.compile_all([every[source] for source in to_build])
            waiting = self.changed_meanwhile(every)
            if not waiting:
                break
        else:
            raise SystemExit(f"{waiting[0]} changes again and again while it is built")
        if self.extensions:
            self.cache.trim()

    def changed_meanwhile(self, every: dict[Path, Extension]) -> list[Path]:
        return [source for source in every if keys.extension_key(source) != keys.build_id(self.target(source))]

    def target(self, source: Path) -> Path:
        """Where the extension belongs."""
        if self.beside_sources:
            return self.beside(source)
        return Path(self.build_lib, self.get_ext_filename(sources.module_name(source)))

    def beside(self, source: Path) -> Path:
        return Path(self.get_ext_filename(sources.module_name(source)))

    def take(self, source: Path) -> bool:
        """Whether the extension exists: in its place, beside its source or in the cache."""
        key, target = self.key_of[source], self.target(source)
        if self.force:
            return False
        if keys.build_id(target) == key:
            return True
        if keys.build_id(self.beside(source)) == key:
            content = self.beside(source).read_bytes()
        else:
            content = self.cache.get(key) or b""
        if content:
            write_whole(target, content, 0o755)
        return bool(content) and keys.build_id(target) == key

    def compile_all(self, wanted: list[Extension]) -> None:
        if not wanted:
            return
        headers = PrecompiledHeaders(self.compiler, wanted)
        to_translate = [
            source for ext in wanted if not translation.is_translated(source := Path(ext.sources[0]), self.cache)
        ]
        if to_translate:
            self.progress.start("translated", len(to_translate))
            translation.translate(to_translate, JOBS, self.cache, self.progress.finished)
        headers.wait()
        self.progress.start("built", len(wanted))
        self.compile_extensions(wanted, headers)

    def compile_extensions(self, wanted: list[Extension], headers: PrecompiledHeaders) -> None:
        """With setuptools' own rules, under a directory of its own: what is complete is then moved to its place."""
        self.source_of = {ext.name: Path(ext.sources[0]) for ext in wanted}
        every, place, force = self.extensions, self.build_lib, self.force
        self.extensions = []
        for ext in wanted:
            source = self.source_of[ext.name]
            build_id = f"-Wl,--build-id=0x{self.key_of[source]}"
            self.extensions.append(
                Extension(
                    ext.name,
                    [str(translation.cpp_file(source))],
                    language="c++",
                    extra_compile_args=[*headers.flags_for(ext), *ext.extra_compile_args],
                    extra_link_args=[*ext.extra_link_args, build_id],
                    include_dirs=ext.include_dirs,
                )
            )
        for ext in self.extensions:
            ext._full_name, ext._links_to_dynamic, ext._needs_stub = ext.name, False, False
            ext._file_name = self.get_ext_filename(ext.name)
        # A large module that starts last would keep the others waiting.
        self.extensions.sort(key=lambda ext: -Path(ext.sources[0]).stat().st_size)
        self.final_lib, self.force, temporary = place, True, self.build_temp
        Path(temporary).mkdir(parents=True, exist_ok=True)
        # Another build of this checkout may run at the same time.
        with tempfile.TemporaryDirectory(dir=temporary) as own:
            self.build_temp, self.build_lib = own, str(Path(own, "linked"))
            try:
                super().build_extensions()
            finally:
                self.extensions, self.build_lib, self.force, self.build_temp = every, place, force, temporary

    def build_extension(self, ext: Extension) -> None:
        super().build_extension(ext)
        self.install(ext)
        self.progress.finished(ext.name)

    def install(self, ext: Extension) -> None:
        """Puts a new extension into its place and the cache, unless its sources are not what they were."""
        source = self.source_of[ext.name]
        linked = Path(self.get_ext_fullpath(ext.name))
        content = linked.read_bytes()
        linked.unlink()
        if keys.extension_key(source) == self.key_of[source]:
            beside = self.beside(source)
            write_whole(beside if self.beside_sources else Path(self.final_lib, beside), content, 0o755)
            self.cache.put(self.key_of[source], content)


def remove_orphans() -> None:
    """Removes the built extensions whose source is gone: Python would import them before a .py of that name."""
    for package in sources.PACKAGES:
        for built in Path(package).rglob("*.so"):
            if not built.with_name(built.name.partition(".")[0] + ".pyx").exists():
                built.unlink()
