"""What a client says of its connections while its broker goes and comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from kcore.client.consumer.consumer import Consumer
from kcore.client.network.connection_state import ConnectionState
from kcore.client.producer import Producer
from kcore.testing import EmbeddedBroker

TIMEOUT_S = 60
LOOK_INTERVAL_S = 0.01


def await_states(
    states: Callable[[], Sequence[ConnectionState]], holds: Callable[[Sequence[ConnectionState]], bool]
) -> Sequence[ConnectionState]:
    """Returns the states once they are so; a connection gives no event to wait for."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while not holds(found := states()):
        assert time.monotonic() < deadline_s, found
        time.sleep(LOOK_INTERVAL_S)
    return found


@pytest.mark.parametrize("kind", ["producer", "consumer"])
def test_connections_are_known_before_during_and_after_a_loss(kind: str) -> None:
    with EmbeddedBroker(topics=["states"]) as broker:
        client: Producer | Consumer
        if kind == "producer":
            client = Producer(bootstrap_servers=broker.bootstrap_servers)
            client.send("states", b"one").result(TIMEOUT_S)
        else:
            client = Consumer(bootstrap_servers=broker.bootstrap_servers, group_id="states")
            client.subscribe(["states"])
            client.poll(100.0)
        with client:
            up = await_states(client.connection_states, lambda found: any(state.is_connected for state in found))
            assert {state.server for state in up} == {broker.bootstrap_servers}
            broker.kill()
            if isinstance(client, Producer):
                delivery = client.send("states", b"two")
            down = await_states(
                client.connection_states,
                lambda found: any(state.failed_attempts > 1 for state in found),
            )
            assert not any(state.is_connected for state in down)
            assert "Connection refused" in {state.failure for state in down}
            broker.start()
            again = await_states(client.connection_states, lambda found: any(state.is_connected for state in found))
            assert [(state.failed_attempts, state.failure) for state in again if state.is_connected][:1] == [(0, None)]
            if isinstance(client, Producer):
                delivery.result(TIMEOUT_S)
