"""`python -m kcli` and the `kcli` script.

The version is answered before Click is imported: scripts ask for it often, and it must cost nothing.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line of this process and returns its exit code."""
    if sys.argv[1:] == ["--version"]:
        from kcore import __version__

        print(f"kcli {__version__}")
        return 0
    from kcli.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
