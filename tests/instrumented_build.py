"""`python -m tests.instrumented_build SANITIZER COPY PATH...`: a build with a sanitizer, in a copy of the sources.

The release build beside the .pyx files stays. COPY holds what the checkout holds under these paths, with the extensions
of the last run, and only what changed is built anew. Times of modification do not tell what changed: who pulls while a
build runs leaves sources that are older than what was made of those before them. So contents are compared, and a file
that differs is written, which makes it newer than everything built; one run at a time may do so.

What the compilers say is kept in COPY/build/build.log.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = ("setup.py", "build_extensions", "pyproject.toml", "README.md", "LICENSE")
BUILT = (".so", ".o", ".pyc")
SHOWN_LINES = 40


def main() -> int:
    sanitizer, copy = sys.argv[1], Path(sys.argv[2]).absolute()
    (copy / "build").mkdir(parents=True, exist_ok=True)
    with (copy / "build" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        update(ROOT, copy, [*ALWAYS, *sys.argv[3:]])
        return build(copy, sanitizer)


def update(root: Path, copy: Path, paths: list[str]) -> None:
    """Makes `copy` hold these files and directories of `root`, and no other sources."""
    there = [file for path in paths for file in sources(root / path)]
    wanted = {copy / file.relative_to(root) for file in there}
    for file in sources(copy):
        if file not in wanted and copy / "build" not in file.parents:
            file.unlink()
    for file in there:
        target = copy / file.relative_to(root)
        content = file.read_bytes()
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(file.stat().st_mode)


def sources(path: Path) -> Iterator[Path]:
    """The files under a path, in order, but for what is built."""
    found = [path] if path.is_file() else sorted(path.rglob("*"))
    return (file for file in found if file.suffix not in BUILT and file.is_file())


def build(copy: Path, sanitizer: str) -> int:
    """The exit code, with the end of the compilers' words on stderr when it is not 0."""
    log = copy / "build" / "build.log"
    progress = os.dup(2)
    with log.open("wb") as output:
        status = subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
            cwd=copy,
            env={**os.environ, "KCORE_SANITIZE": sanitizer, "KCORE_PROGRESS": str(progress)},
            stdout=output,
            stderr=output,
            pass_fds=[progress],
            check=False,
        ).returncode
    if status:
        words = log.read_text(errors="replace").splitlines()[-SHOWN_LINES:]
        print(*words, f"the sanitizer build failed; all of it is in {log}", sep="\n", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
