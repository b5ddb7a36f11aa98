"""`python -m kcli` and the `kcli` script.

`--version`, and `server-start` with plain arguments, run without Click, whose import would take most of their time.
"""

from __future__ import annotations

import os
import sys

# Set by the completion script of a shell (kcli/completion.py).
COMPLETION_VARIABLE = "_KCLI_COMPLETE"


def main() -> int:
    """Runs the command line of this process and returns its exit code."""
    if sys.argv[1:] == ["--version"]:
        from kcore import __version__

        print(f"kcli {__version__}")
        return 0
    if sys.argv[1:2] == ["server-start"]:
        from kcli.server_process import plain_arguments, serve

        arguments = plain_arguments(sys.argv[2:])
        if arguments is not None:
            from kcli.failures import name_command, report

            name_command("kcli server-start")
            return report(lambda: serve(arguments))
    if sys.argv[1:2] and sys.argv[1].startswith("kafka-"):
        from kcli import kafka_tools

        if sys.argv[1] in kafka_tools.MODULES:
            return kafka_tools.run(sys.argv[1], sys.argv[2:])
    if COMPLETION_VARIABLE in os.environ:
        from kcli.completion import answer

        return answer()
    from kcli.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
