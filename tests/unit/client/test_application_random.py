"""An application's random numbers are its own: what it seeded comes in order, whatever its clients do meanwhile."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import random
from kcore.client.consumer.consumer import Consumer
from kcore.client.errors import ClientError
from kcore.client.producer.producer import Producer

random.seed(4)
expected = [random.random() for _ in range(3)]
random.seed(4)
nobody = {"bootstrap_servers": "127.0.0.1:1", "retry_backoff_ms": 1, "reconnect_backoff_ms": 1}
with Producer(max_block_ms=300, **nobody) as producer, Consumer(group_id="g", **nobody) as consumer:
    consumer.subscribe(["nowhere"])
    consumer.poll(0.3)
    try:
        producer.send("nowhere", b"")
    except ClientError as error:
        print(type(error).__name__)
assert [random.random() for _ in range(3)] == expected
"""


def test_clients_leave_the_sequence_alone_that_was_seeded() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ClientTimeout\n"), done.stderr
