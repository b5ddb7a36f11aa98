"""Content keys: a digest of everything that an extension is made of. Equal keys mean interchangeable extensions.

`translation_key` covers the generated C++, `extension_key` the shared object. An extension carries its key as ELF build
id, so that the file itself says what it was made of; times of modification are not used.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import struct
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

from build_extensions import flags, sources

BUILD_CODE = [
    Path("setup.py"),
    *sorted(path for path in Path("build_extensions").glob("*.*") if path.suffix in (".py", ".h")),
]
# Variables that change what the compiler or the linker does.
ENVIRONMENT = (
    *("CC", "CXX", "AR", "LDSHARED", "LDCXXSHARED", "CPP", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH"),
    *("C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_RUN_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"),
    "SOURCE_DATE_EPOCH",
)
KEY_BYTES = 20
NOTE_BUILD_ID = 3
SEGMENT_NOTE = 4


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[: 2 * KEY_BYTES]


def file_digest(path: Path) -> str:
    status = path.stat()
    return digest_at(path, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)


@cache
def digest_at(path: Path, *identity: int) -> str:
    """The content's digest; read once for a file with this time, inode and size."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digests(paths: list[Path]) -> list[tuple[str, str]]:
    return [(str(path), file_digest(path)) for path in paths]


def translation_key(source: Path) -> str:
    return digest([source, digests([*sources.files_of(source), *BUILD_CODE]), cython_version(), flags.directives()])


def extension_key(source: Path) -> str:
    return digest(
        [
            translation_key(source),
            digests(sources.headers()),
            flags.flags_of(sources.module_name(source)),
            tools_identity(),
        ]
    )


@cache
def tools_identity() -> list[object]:
    return [python_identity(), compiler_identity()]


@cache
def cython_version() -> str:
    return importlib.metadata.version("cython")


def python_identity() -> list[object]:
    """The interpreter, its headers and the flags that it gives every extension."""
    include = Path(sysconfig.get_path("include"))
    configuration = Path(sysconfig.get_config_h_filename())
    headers = [path for path in (include / "patchlevel.h", configuration) if path.is_file()]
    return [
        sys.version,
        sysconfig.get_config_vars("EXT_SUFFIX", "SOABI", "CC", "CXX", "CFLAGS", "CCSHARED", "LDSHARED", "LDCXXSHARED"),
        [hashlib.sha256(path.read_bytes()).hexdigest() for path in headers],
        importlib.metadata.version("setuptools"),
    ]


def compiler_identity() -> list[object]:
    """The C++ compiler's and the linker's versions, the C library's, and variables that they read."""
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    return [
        os.uname().machine,
        libc,
        said_by([*compiler(), "-v"]),
        said_by([*compiler(), "-Wl,--version"]).partition("\n")[0],
        [(name, os.environ.get(name)) for name in ENVIRONMENT],
    ]


@cache
def compiler() -> tuple[str, ...]:
    """The C++ compiler that setuptools takes, with the arguments that belong to its name."""
    command = os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++"
    return tuple(command.split())


def said_by(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, env={**os.environ, "LC_ALL": "C"}
        )
    except OSError as error:
        return f"{command[0]}: {error}"
    return done.stdout + done.stderr


def build_id(path: Path) -> str | None:
    """The build id of an ELF file of 64 bits; None where there is none, or no such file."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:5] != b"\x7fELF\x02":
                return None
            table, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
            file.seek(table)
            segments = file.read(size * count)
            for start in range(0, len(segments) - size + 1, size):
                kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", segments, start)
                if kind == SEGMENT_NOTE:
                    file.seek(offset)
                    found = build_id_in(file.read(length))
                    if found:
                        return found
    except (OSError, struct.error):
        pass
    return None


def build_id_in(notes: bytes) -> str | None:
    position = 0
    while position + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, position)
        name = position + 12
        content = name + (name_size + 3 & ~3)
        if kind == NOTE_BUILD_ID and notes[name : name + name_size] == b"GNU\0":
            return notes[content : content + size].hex()
        position = content + (size + 3 & ~3)
    return None
