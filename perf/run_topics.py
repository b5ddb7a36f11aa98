"""Measures CreateTopics and DeleteTopics on a broker that has very many topics already.

    .venv/bin/python -m perf.run_topics [--topics N]... [--batch N] [--checkout DIR]

It creates N topics (4,000, then 20,000) of one partition, `batch` (250) in each request. Then it prints the seconds of
a request that creates `batch` more, of three requests that delete `batch` each, of one topic deleted alone, and of one
topic deleted and created again under its name. `--checkout` is whose broker is measured: compare the same row of two
checkouts. Figures are of one run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.headers import decode_response, encode_request
from perf.run_partitions import Connection, framed
from tests.server_command import CHECKOUT, ServerCommand

CREATE_VERSION, DELETE_VERSION = 5, 5
DELETING_REQUESTS = 3
SINGLE_ROUNDS = 5
SIZES = (4_000, 20_000)


class Administrator:
    """Changes topics over one connection, and says how long each request took."""

    def __init__(self, port: int) -> None:
        self.connection = Connection(port)

    def create(self, names: list[str]) -> float:
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
        fields = {"topics": topics, "timeout_ms": 60_000}
        seconds, answer = self._request(apis.CREATE_TOPICS, CREATE_VERSION, fields)
        check(answer.topics, "created")
        return seconds

    def delete(self, names: list[str]) -> float:
        fields = {"topic_names": names, "timeout_ms": 60_000}
        seconds, answer = self._request(apis.DELETE_TOPICS, DELETE_VERSION, fields)
        check(answer.responses, "deleted")
        return seconds

    def _request(self, api: Api, version: int, fields: dict[str, Any]) -> tuple[float, Any]:
        request = framed(encode_request(api, version, 1, "perf", fields))
        started = time.monotonic()
        frame = self.connection.exchange(request)
        seconds = time.monotonic() - started
        return seconds, decode_response(api, version, frame)[1]


def check(rows: list[Any], what: str) -> None:
    failed = [row.name for row in rows if row.error_code]
    if failed:
        raise RuntimeError(f"not {what}: {failed[:5]}")


def measure(port: int, count: int, batch: int) -> dict[str, float]:
    administrator = Administrator(port)
    names = [f"many-{number:05d}" for number in range(count)]
    started = time.monotonic()
    for first in range(0, count, batch):
        administrator.create(names[first : first + batch])
    taken = {"create all": time.monotonic() - started}
    more = [f"more-{number:05d}" for number in range(batch)]
    taken[f"create {batch} more"] = administrator.create(more)
    for number in range(DELETING_REQUESTS):
        gone = names[number * batch : (number + 1) * batch]
        taken[f"delete {batch}, request {number + 1}"] = administrator.delete(gone)
    taken["delete one, median"] = statistics.median(administrator.delete([more[i]]) for i in range(SINGLE_ROUNDS))
    again = [administrator.delete([more[-1 - i]]) + administrator.create([more[-1 - i]]) for i in range(SINGLE_ROUNDS)]
    taken["delete one and create it again, median"] = statistics.median(again)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--topics", type=int, action="append", help="before any is deleted (default: 4,000, 20,000)")
    parser.add_argument("--batch", type=int, default=250, help="topics of one request (default 250)")
    parser.add_argument("--checkout", type=Path, default=CHECKOUT, help="whose broker (default: this checkout's)")
    parser.add_argument("--directory", type=Path, default=None)
    options = parser.parse_args()
    for count in options.topics or SIZES:
        with (
            tempfile.TemporaryDirectory(prefix="kcli-topics-", dir=options.directory) as directory,
            ServerCommand(Path(directory) / "data", checkout=options.checkout.resolve()) as server,
        ):
            taken = measure(server.port, count, options.batch)
        print(f"{count} topics")
        for name, seconds in taken.items():
            print(f"  {name:40} {seconds:9.3f} s", flush=True)


if __name__ == "__main__":
    main()
