"""The pytest plugin `kcli`: fixtures with a real broker. pytest loads it if the package is installed.

    def test_orders_arrive(kcli_topic, kcli_producer, kcli_consumer):
        producer = kcli_producer()
        ...

Every pytest-xdist worker is a process and has its own broker. Scope and properties of the shared broker are ini options
(`kcli_broker_scope`, `kcli_broker_properties`). docs/testing.md lists the fixtures.

All pytest runs in the environment import this module, even if they do not use it. So it imports only what pytest has
imported already.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from kcore.testing.client_factories import ConsumerFactory, ProducerFactory
    from kcore.testing.embedded_broker import EmbeddedBroker
    from kcore.testing.faults import Faults

    BrokerFactory = Callable[..., EmbeddedBroker]

# The current kcli_broker.
SHARED_BROKER: pytest.StashKey[EmbeddedBroker] = pytest.StashKey()
BROKER_FIXTURES = frozenset(("kcli_broker", "kcli_broker_factory"))
SCOPES = ("function", "class", "module", "package", "session")
MARKER = "kcli_topic"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "kcli_broker_scope", f"how long the fixture kcli_broker lives: {', '.join(SCOPES)}", default="session"
    )
    parser.addini(
        "kcli_broker_properties",
        "broker configurations of the fixtures' brokers, one NAME=VALUE a line",
        type="linelist",
    )
    parser.addini(
        "kcli_client",
        "the client library of kcli_producer and kcli_consumer: confluent-kafka, kafka-python or aiokafka "
        "(default: the first of them that is installed)",
        default="",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}(partitions=1, config=None, name=None): the topic that the fixture kcli_topic creates"
    )


def broker_scope(fixture_name: str, config: pytest.Config) -> str:
    """Return the scope of kcli_broker from the ini file."""
    scope = str(config.getini("kcli_broker_scope")).strip()
    if scope not in SCOPES:
        raise pytest.UsageError(f"kcli_broker_scope = {scope}: must be one of {', '.join(SCOPES)}")
    return scope


def broker_properties(config: pytest.Config) -> dict[str, str]:
    """Return the broker configurations from the ini file."""
    properties = {}
    for line in config.getini("kcli_broker_properties"):
        name, separator, value = line.partition("=")
        if not separator or not name.strip():
            raise pytest.UsageError(f"kcli_broker_properties: {line!r} is not NAME=VALUE")
        properties[name.strip()] = value.strip()
    return properties


@pytest.fixture(scope=broker_scope)  # type: ignore[arg-type]
def kcli_broker(pytestconfig: pytest.Config) -> Iterator[EmbeddedBroker]:
    """A running broker that tests share: one per session, unless kcli_broker_scope is set.

    If a test has stopped, killed or paused it, it runs again when the next test begins.
    """
    from kcore.testing.embedded_broker import EmbeddedBroker

    with EmbeddedBroker(broker_properties(pytestconfig)) as broker:
        pytestconfig.stash[SHARED_BROKER] = broker
        yield broker
        del pytestconfig.stash[SHARED_BROKER]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Launch the fork server while the first tests run, if any test uses a broker."""
    if session.config.option.collectonly:
        return
    if any(BROKER_FIXTURES.intersection(getattr(item, "fixturenames", ())) for item in session.items):
        from kcore.testing.fork_server_client import fork_server

        fork_server()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    broker = item.config.stash.get(SHARED_BROKER, None)
    if broker is not None and "kcli_broker" in getattr(item, "fixturenames", ()):
        serve_again(broker)


@pytest.fixture(scope=broker_scope)  # type: ignore[arg-type]
def kcli_bootstrap_servers(kcli_broker: EmbeddedBroker) -> str:
    """`host:port` of kcli_broker."""
    return kcli_broker.bootstrap_servers


@pytest.fixture
def kcli_broker_factory(pytestconfig: pytest.Config) -> Iterator[BrokerFactory]:
    """Creates brokers for one test: `kcli_broker_factory({"num.partitions": 3})` returns a running one.

    Takes the arguments of EmbeddedBroker, and `start=False` to return it without starting. All end with the test.
    """
    from contextlib import ExitStack

    from kcore.testing.embedded_broker import EmbeddedBroker

    with ExitStack() as brokers:

        def make(properties: Any = None, *, start: bool = True, **arguments: Any) -> EmbeddedBroker:
            broker = EmbeddedBroker({**broker_properties(pytestconfig), **(properties or {})}, **arguments)
            brokers.callback(broker.close)
            return broker.start() if start else broker

        yield make


@pytest.fixture
def kcli_function_broker(kcli_broker_factory: BrokerFactory) -> EmbeddedBroker:
    """A running broker for one test only, independent of the scope of kcli_broker."""
    return kcli_broker_factory()


@pytest.fixture
def kcli_topic(request: pytest.FixtureRequest, kcli_broker: EmbeddedBroker) -> str:
    """The name of a new topic of kcli_broker. Set its properties with `@pytest.mark.kcli_topic(partitions=3, ...)`."""
    marker = request.node.get_closest_marker(MARKER)
    arguments = dict(marker.kwargs) if marker is not None else {}
    try:
        return kcli_broker.create_topic(arguments.pop("name", None), **arguments)
    except TypeError as error:
        raise pytest.UsageError(f"@pytest.mark.{MARKER}: {error}") from None


@pytest.fixture
def kcli_faults(kcli_broker: EmbeddedBroker) -> Iterator[Faults]:
    """The faults of kcli_broker. They are removed after the test."""
    yield kcli_broker.faults
    if kcli_broker.is_paused:
        kcli_broker.resume()
    if kcli_broker.is_running:
        kcli_broker.faults.clear()


@pytest.fixture
def kcli_producer(pytestconfig: pytest.Config, kcli_bootstrap_servers: str) -> Iterator[ProducerFactory]:
    """Creates producers connected to kcli_broker: `kcli_producer(linger_ms=5)`, `kcli_producer("aiokafka")`."""
    from kcore.testing.client_factories import ProducerFactory

    factory = ProducerFactory(kcli_bootstrap_servers, pytestconfig.getini("kcli_client"))
    yield factory
    factory.close()


@pytest.fixture
def kcli_consumer(pytestconfig: pytest.Config, kcli_bootstrap_servers: str) -> Iterator[ConsumerFactory]:
    """Creates consumers of kcli_broker that read from the first record: `kcli_consumer(kcli_topic)`."""
    from kcore.testing.client_factories import ConsumerFactory

    factory = ConsumerFactory(kcli_bootstrap_servers, pytestconfig.getini("kcli_client"))
    yield factory
    factory.close()


def serve_again(broker: EmbeddedBroker) -> None:
    """Resume or restart a shared broker that a test has paused or ended."""
    if broker.is_paused:
        broker.resume()
    if not broker.is_running:
        broker.start()
