"""Built extensions and their C++, kept by their content keys for every checkout and every `pip install` of a user.

The directory is `KCLI_BUILD_CACHE`, or `kcli/extensions` under `XDG_CACHE_HOME` or `~/.cache`; `KCLI_BUILD_CACHE=off`
turns the cache off. An entry is the digest of its content and the content, compressed: a torn or damaged entry is
removed and the extension is built. Entries appear by renaming, so any number of builds may share the directory.
A directory that cannot be used, or belongs to someone else, is left alone without a word: the cache only saves time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LIMIT_BYTES = 400 << 20
DIGEST_BYTES = 32
SUFFIX = ".extension"


def directory() -> Path | None:
    chosen = os.environ.get("KCLI_BUILD_CACHE", "")
    if chosen.lower() in ("off", "0"):
        return None
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base.startswith("/"):
        return Path(base, "kcli", "extensions")
    try:
        return Path.home() / ".cache" / "kcli" / "extensions"
    except RuntimeError:
        return None


class ExtensionCache:
    def __init__(self, place: Path | None) -> None:
        self.place = place if place is not None and is_usable(place) else None

    def get(self, key: str) -> bytes | None:
        """The extension with this key, or None."""
        if self.place is None:
            return None
        path = self.place / (key + SUFFIX)
        try:
            entry = path.read_bytes()
        except OSError:
            return None
        content = unpacked(entry)
        with suppress(OSError):
            if content is None:
                path.unlink()
            else:
                # The time of modification is that of the last use.
                path.touch()
        return content

    def put(self, key: str, content: bytes) -> None:
        if self.place is None:
            return
        with suppress(OSError):
            write_whole(self.place / (key + SUFFIX), packed(content))

    def trim(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Removes the entries that were not used for longest, until the rest is small enough."""
        if self.place is None:
            return
        found = []
        for path, status in entries(self.place):
            found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= limit_bytes:
                break
            with suppress(OSError):
                path.unlink()
            total -= size


def is_usable(place: Path) -> bool:
    """Whether the directory exists, or could be made, and is this user's own: its files are loaded as code."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place.stat().st_uid == os.geteuid() and os.access(place, os.W_OK | os.X_OK)
    except OSError:
        return False


def entries(place: Path) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        listed = list(os.scandir(place))
    except OSError:
        return
    for entry in listed:
        with suppress(OSError):
            yield Path(entry.path), entry.stat()


def packed(content: bytes) -> bytes:
    return hashlib.sha256(content).digest() + zlib.compress(content, 1)


def unpacked(entry: bytes) -> bytes | None:
    try:
        content = zlib.decompress(entry[DIGEST_BYTES:])
    except zlib.error:
        return None
    return content if hashlib.sha256(content).digest() == entry[:DIGEST_BYTES] else None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to, which then replaces it; removed when the block fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    try:
        yield Path(name)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Writes a file that others see either as it was or complete."""
    with replacing(path) as new:
        new.write_bytes(content)
        new.chmod(mode)
