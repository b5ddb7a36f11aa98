"""Tests of the sample application: the pytest plugin is all that they have."""

from __future__ import annotations

import json
import os

import pytest
from orders.billing import Billing


@pytest.fixture
def bills(kcli_broker):
    return kcli_broker.create_topic(partitions=1)


def order(number):
    return json.dumps({"id": number, "price": 10, "count": number})


def received(consumer, count):
    messages = consumer.consume(count, 30)
    assert not [message.error() for message in messages if message.error()]
    return sorted(json.loads(message.value())["total"] for message in messages)


@pytest.mark.kcli_topic(partitions=3)
def test_every_order_is_billed(kcli_topic, kcli_bootstrap_servers, kcli_producer, kcli_consumer, bills):
    producer = kcli_producer(linger_ms=1)
    for number in range(20):
        producer.produce(kcli_topic, order(number), key=str(number))
    assert producer.flush(30) == 0
    billing = Billing(kcli_bootstrap_servers, kcli_topic, bills)
    billing.run(20)
    billing.close()
    assert received(kcli_consumer(bills), 20) == [number * 10 for number in range(20)]


def test_billing_goes_on_where_it_was_after_a_crash_of_the_broker(kcli_function_broker):
    broker = kcli_function_broker
    topic, bills = broker.create_topic("orders"), broker.create_topic("bills")
    from confluent_kafka import Consumer, Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    for number in (1, 2):
        producer.produce(topic, order(number))
        assert producer.flush(30) == 0
        billing = Billing(broker.bootstrap_servers, topic, bills)
        billing.run(1)
        billing.close()
        broker.restart(kill=True)
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "check", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([bills])
    assert received(consumer, 2) == [10, 20]
    consumer.close()


def test_a_topic_without_a_marker_has_the_properties_of_the_ini_file(kcli_topic, kcli_producer):
    assert len(kcli_producer().list_topics(kcli_topic, timeout=30).topics[kcli_topic].partitions) == 1
    assert len(kcli_producer().list_topics("made-by-asking", timeout=30).topics) == 1


@pytest.mark.kcli_topic(config={"retention.ms": 1234}, name="named")
def test_a_topic_has_the_configuration_of_its_marker(kcli_topic, kcli_bootstrap_servers):
    from confluent_kafka.admin import AdminClient, ConfigResource

    assert kcli_topic == "named"
    admin = AdminClient({"bootstrap.servers": kcli_bootstrap_servers})
    (described,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, kcli_topic)]).values()
    assert described.result(30)["retention.ms"].value == "1234"


def test_brokers_of_a_tests_own(kcli_broker, kcli_broker_factory):
    first, second = kcli_broker_factory(), kcli_broker_factory({"broker.id": 7}, topics=["theirs"])
    assert len({kcli_broker.port, first.port, second.port}) == 3
    assert (second.broker_id, first.properties["num.partitions"]) == (7, "2")
    idle = kcli_broker_factory(start=False)
    assert not idle.is_running


def test_whatever_one_test_does_to_the_shared_broker(kcli_broker):
    kcli_broker.kill()


def test_the_next_test_finds_it_serving(kcli_broker, kcli_topic, kcli_producer):
    producer = kcli_producer()
    producer.produce(kcli_topic, b"on")
    assert producer.flush(30) == 0
    kcli_broker.pause()


def test_also_after_a_pause(kcli_producer):
    assert kcli_producer().list_topics(timeout=30).brokers


@pytest.mark.parametrize("library", ["confluent-kafka", "kafka-python"])
def test_clients_of_other_libraries(library, kcli_topic, kcli_producer, kcli_consumer):
    producer = kcli_producer(library)
    if library == "kafka-python":
        producer.send(kcli_topic, b"one").get(30)
        consumer = kcli_consumer(kcli_topic, library=library, consumer_timeout_ms=30_000)
        assert next(consumer).value == b"one"
    else:
        producer.produce(kcli_topic, b"one")
        assert producer.flush(30) == 0
        assert kcli_consumer(kcli_topic, library=library).poll(30).value() == b"one"


def test_clients_of_aiokafka(kcli_topic, kcli_producer, kcli_consumer):
    import asyncio

    async def exchange():
        async with kcli_producer("aiokafka") as producer:
            await producer.send_and_wait(kcli_topic, b"one")
        async with kcli_consumer(kcli_topic, library="aiokafka") as consumer:
            return (await consumer.getone()).value

    assert asyncio.run(exchange()) == b"one"


def test_a_client_that_is_not_installed_is_named(kcli_producer, monkeypatch):
    import sys

    for module in ("confluent_kafka", "kafka", "aiokafka"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="pip install confluent-kafka"):
        kcli_producer()
    with pytest.raises(ImportError, match="aiokafka is not installed: pip install aiokafka"):
        kcli_producer("aiokafka")
    with pytest.raises(ValueError, match="must be one of"):
        kcli_producer("librdkafka")


@pytest.mark.parametrize("number", range(50))
def test_fifty_in_a_row(number, kcli_function_broker, request):
    """Writes down whom it has had."""
    with open(os.environ["SEEN"], "a", encoding="ascii") as seen:
        seen.write(f"{kcli_function_broker.pid}\n")
