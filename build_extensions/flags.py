"""The flags of compiler and linker, and Cython's directives, for the build that the environment asks for.

Most of the CPU time of a build is the optimiser's. So only the modules that run a loop over records or bytes get -O3.
Modules that no request of a producer or consumer reaches get -Og, which compiles fastest. All others get -O2.
"""

from __future__ import annotations

import os
from typing import NamedTuple

TRACE = os.environ.get("KCORE_TRACE", "") not in ("", "0")
SYMBOLS = os.environ.get("KCORE_SYMBOLS", "") not in ("", "0")

# Modules with work per record or per byte.
PER_RECORD = (
    "kcore.client.consumer.arrow_array",
    "kcore.client.consumer.columns",
    "kcore.client.consumer.consumer_record",
    "kcore.client.consumer.fetched_partition",
    "kcore.client.consumer.record_columns",
    "kcore.client.consumer.record_reader",
    "kcore.client.consumer.record_text",
    "kcore.client.producer.columns",
    "kcore.client.producer.partitioner",
    "kcore.client.producer.producer",
    "kcore.client.producer.producer_batch",
    "kcore.client.producer.record_accumulator",
    "kcore.client.producer.record_appender",
    "kcore.client.producer.record_future",
    "kcore.protocol",
    "kcore.record",
)
# Modules for start-up, administration and tests.
COLD = (
    "kcore.client.network.api_versions",
    "kcore.client.network.connection_setup",
    "kcore.client.network.name_resolution",
    "kcore.client.network.network_thread",
    "kcore.metrics",
    "kcore.network.acceptor",
    "kcore.network.connection_quotas",
    "kcore.network.endpoint",
    "kcore.network.listener",
    "kcore.network.network_report",
    "kcore.network.request_log",
    "kcore.network.socket_server",
    "kcore.platform.disk",
    "kcore.platform.durable_content",
    "kcore.platform.failing_disk",
    "kcore.platform.memory_content",
    "kcore.platform.memory_disk",
    "kcore.platform.memory_tree",
    "kcore.platform.process",
    "kcore.storage.log_retention",
)

# Warnings in generated code cannot be fixed here; tests/unit/test_headers.py compiles our own headers with -Werror.
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


class Flags(NamedTuple):
    compile: list[str]
    link: list[str]


def flags_of(module: str) -> Flags:
    sanitizer = os.environ.get("KCORE_SANITIZE", "")
    if sanitizer and sanitizer not in SANITIZERS:
        raise SystemExit(
            f"KCORE_SANITIZE={sanitizer}: must be one of {', '.join(SANITIZERS)}, or unset for a release build"
        )
    common = ["-std=c++17", "-fvisibility=hidden", *WARNINGS, *GENERATED_CODE_NOISE]
    if TRACE:
        common += ["-DCYTHON_TRACE_NOGIL=1"]
    if sanitizer:
        return Flags([*common, "-O1", "-g", *SANITIZERS[sanitizer]], ["-pthread", *SANITIZERS[sanitizer]])
    if SYMBOLS:
        return Flags([*common, optimisation(module), "-g", "-fno-omit-frame-pointer"], ["-pthread"])
    return Flags([*common, optimisation(module), "-g0"], ["-pthread", "-Wl,-s"])


def optimisation(module: str) -> str:
    if is_under(module, PER_RECORD):
        return "-O3"
    return "-Og" if is_under(module, COLD) else "-O2"


def is_under(module: str, packages: tuple[str, ...] | list[str]) -> bool:
    return any(module == name or module.startswith(name + ".") for name in packages)


def directives() -> dict[str, object]:
    return {
        "language_level": 3,
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
        "initializedcheck": False,
        "embedsignature": False,
        # Nothing is pickled, and methods for it are a sixth of the code of a class.
        "auto_pickle": False,
        # Cython.Coverage reads the line numbers from these comments.
        "emit_code_comments": TRACE,
        "linetrace": TRACE,
    }
