"""Brokers for tests: a real broker in its own process, faults inside it, and a fault proxy for any cluster.

    from kcore.testing import EmbeddedBroker

    with EmbeddedBroker(topics={"orders": 3}) as broker:
        ... broker.bootstrap_servers ...

`EmbeddedBroker`   starts, stops, kills and pauses one broker (`embedded_broker.py`)
`FaultProxy`       a proxy between clients and any Kafka cluster (`fault_proxy/`)
`pytest_plugin`    the fixtures; pytest loads it automatically if the package is installed

See docs/testing.md. Importing this package imports none of its modules, because every pytest run in an environment with
the package imports it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.testing.embedded_broker import EmbeddedBroker, start_all
    from kcore.testing.errors import BrokerDied, BrokerNotStarted, BrokerStuck, EmbeddedBrokerError
    from kcore.testing.fault_proxy.proxy import FaultProxy

_HOMES = {
    "BrokerDied": "errors",
    "BrokerNotStarted": "errors",
    "BrokerStuck": "errors",
    "EmbeddedBroker": "embedded_broker",
    "EmbeddedBrokerError": "errors",
    "FaultProxy": "fault_proxy.proxy",
    "start_all": "embedded_broker",
}
__all__ = [
    "BrokerDied",
    "BrokerNotStarted",
    "BrokerStuck",
    "EmbeddedBroker",
    "EmbeddedBrokerError",
    "FaultProxy",
    "start_all",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
