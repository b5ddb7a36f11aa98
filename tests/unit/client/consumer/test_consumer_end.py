"""What is left of a consumer once it is closed: nothing."""

from __future__ import annotations

import gc
import socket
import weakref

from kcore.client.consumer import Consumer


def test_what_was_on_its_way_does_not_outlive_it() -> None:
    """Its Metadata request waits for a connection that is made and never answered."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        consumer = Consumer(bootstrap_servers=f"127.0.0.1:{silent.getsockname()[1]}", group_id="g")
        consumer.subscribe(["t"])
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(4)  # the request for versions, which others wait for
            consumer.close()
    remains = weakref.ref(consumer)
    del consumer
    gc.collect()
    assert remains() is None
