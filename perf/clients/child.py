"""One turn of a client of Python: `python -m perf.clients.child TASK`, the task and the result as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib import import_module

from perf.clients.turn import Task


def main() -> None:
    task = Task(**json.loads(sys.argv[1]))
    client = import_module(f"perf.clients.contenders.{task.client}")
    result = getattr(client, task.kind)(task)
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    main()
