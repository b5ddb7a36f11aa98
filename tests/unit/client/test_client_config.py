"""What a client's configuration takes, refuses and derives; the rules between keys against Kafka 4's own clients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcore.client.config.auto_offset_reset import duration_to_ms, reset_strategy
from kcore.client.config.client_config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from kcore.config.definition import ConfigException

VERDICTS = Path(__file__).parents[2] / "vectors" / "config" / "client-verdicts-4.3.1.json"
CLIENTS: dict[str, type[ClientConfig]] = {"producer": ProducerConfig, "consumer": ConsumerConfig, "admin": AdminConfig}
SERVERS = {"bootstrap.servers": "localhost:9092"}
# Refused by both in other words: Kafka's are unclear, or are about what comes first there.
OTHER_WORDS = {
    "Configuration 'bootstrap.servers' must not be empty. Valid values include": "Configuration 'bootstrap.servers'",
    "No resolvable bootstrap urls": "Invalid url in bootstrap.servers",
    "Invalid value null for configuration sasl.mechanism": "security.protocol=SASL_PLAINTEXT: TLS and SASL",
    "Invalid value -2 for configuration receive": "Invalid value -2 for configuration receive.buffer.bytes",
}


def expected_words(verdict: str) -> str:
    for theirs, ours in OTHER_WORDS.items():
        if verdict.startswith(theirs):
            return ours
    # Kafka says twice which value of auto.offset.reset is invalid.
    return verdict.partition(": Invalid value `")[0].rstrip(".")


@pytest.mark.parametrize(("client", "properties", "verdict"), json.loads(VERDICTS.read_text()))
def test_what_kafka_refuses_is_refused_in_its_words(client: str, properties: dict[str, str], verdict: str) -> None:
    if verdict == "OK":
        CLIENTS[client](properties)
        return
    with pytest.raises(ConfigException) as caught:
        CLIENTS[client](properties)
    assert str(caught.value).startswith(expected_words(verdict))


def test_names_and_keywords_mean_the_same() -> None:
    by_name = ProducerConfig({**SERVERS, "linger.ms": "5", "enable.idempotence": "false", "acks": "1"})
    by_keyword = ProducerConfig(bootstrap_servers=["localhost:9092"], linger_ms=5, enable_idempotence=False, acks=1)
    for config in (by_name, by_keyword):
        assert config.texts("bootstrap.servers") == ("localhost:9092",)
        assert (config.number("linger.ms"), config.flag("enable.idempotence"), config.text("acks")) == (5, False, "1")
        assert config.is_set("linger.ms")
        assert not config.is_set("batch.size")
        assert config.number("batch.size") == 16_384
        assert config.warnings == []


def test_every_name_has_a_keyword_of_its_own() -> None:
    for client in CLIENTS.values():
        assert len({name.replace(".", "_") for name in client.KEYS}) == len(client.KEYS)
        assert not any("_" in name for name in client.KEYS)


@pytest.mark.parametrize(
    ("properties", "keywords", "complaint"),
    [
        ({}, {"batchsize": 1}, "batchsize is not a configuration of the producer; did you mean batch.size?"),
        ({}, {"zzz": 1}, "zzz is not a configuration of the producer"),
        ({"acks": "1"}, {"acks": 1}, "acks is given twice, by its name and as acks. Remove one"),
        ({"linger.ms": True}, {}, "Expected value to be a whole number of 64 bits, but it was a bool"),
        ({"linger.ms": 1.5}, {}, "Expected value to be a whole number of 64 bits, but it was a float"),
        (
            {"batch.size": 1 << 31},
            {},
            "Invalid value 2147483648 for configuration batch.size: Not a number of type INT",
        ),
        ({"enable.idempotence": 1}, {}, "Expected value to be true or false, but it was a int"),
        ({"bootstrap.servers": 9092}, {}, "Expected value to be a list of strings, or one string with commas"),
        ({"bootstrap.servers": [9092]}, {}, "Expected value to be a list of strings, or one string with commas"),
        ({"compression.type": None}, {}, "A value is required. Remove it for the default"),
        ({"client.id": b"x"}, {}, "Expected value to be a string, but it was a bytes"),
    ],
)
def test_what_cannot_be_is_refused(properties: dict[str, Any], keywords: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigException) as caught:
        ProducerConfig({**SERVERS, **properties}, **keywords)
    assert complaint in str(caught.value)


def test_odd_settings_are_warned_about_once() -> None:
    properties = {**SERVERS, "batch_size": "1", "colour": "red", "metric.reporters": "x.Y", "retry.backoff.ms": "5000"}
    config = ProducerConfig({**properties, "request.timeout.ms": "200000"})
    assert config.warnings == [
        "batch_size is ignored: it is not a configuration of the producer; did you mean batch.size?",
        "colour is ignored: it is not a configuration of the producer",
        "metric.reporters has no effect in this version",
        "retry.backoff.ms=5000 is larger than retry.backoff.max.ms. Using 1000",
        "delivery.timeout.ms is less than linger.ms + request.timeout.ms. Using 200000",
    ]
    assert config.unknown == {"batch_size": "1", "colour": "red"}
    assert config.number("retry.backoff.ms") == 1000
    assert config.number("delivery.timeout.ms") == 200_000


def test_what_follows_from_other_settings() -> None:
    assert ProducerConfig({**SERVERS, "reconnect.backoff.ms": 70})["reconnect.backoff.max.ms"] == 70
    assert ProducerConfig({**SERVERS, "acks": "-1"})["acks"] == "all"
    assert ProducerConfig({**SERVERS, "acks": "1"})["enable.idempotence"] is False
    assert ProducerConfig({**SERVERS, "transactional.id": "t"})["client.id"] == "producer-t"
    assert ConsumerConfig(SERVERS)["enable.auto.commit"] is False
    assert ConsumerConfig({**SERVERS, "group.id": "g"})["enable.auto.commit"] is True
    assert ConsumerConfig({**SERVERS, "group.id": "g", "group.instance.id": "i"})["client.id"] == "consumer-g-i"
    assert ConsumerConfig({**SERVERS, "group.protocol": "CONSUMER", "group.id": "g"})["group.protocol"] == "consumer"
    assert AdminConfig({**SERVERS, "request.timeout.ms": "100000"})["default.api.timeout.ms"] == 100_000
    servers = "PLAINTEXT://[::1]:9092, localhost:9093"
    assert AdminConfig(bootstrap_servers=servers)["bootstrap.servers"] == ("[::1]:9092", "localhost:9093")
    first, second = ProducerConfig(SERVERS)["client.id"], ProducerConfig(SERVERS)["client.id"]
    assert first != second
    assert first.startswith("producer-")


def test_objects_stand_in_the_place_of_classes() -> None:
    def shout(topic: str, value: str) -> bytes:
        return value.upper().encode()

    config = ProducerConfig(SERVERS, value_serializer=shout, interceptor_classes=[shout], partitioner_class=None)
    assert config["value.serializer"] is shout
    assert config.objects("interceptor.classes") == (shout,)
    assert config["partitioner.class"] is None


def test_secrets_are_not_shown() -> None:
    config = ProducerConfig({**SERVERS, "ssl.key.password": "hunter2"})
    assert config["ssl.key.password"] == "hunter2"
    assert "hunter2" not in str(config.shown())


def test_a_finished_configuration_is_taken_as_it_is() -> None:
    config = ProducerConfig(SERVERS)
    assert ProducerConfig.of(config, {}) is config
    assert ProducerConfig.of(SERVERS, {"linger_ms": 3})["linger.ms"] == 3
    with pytest.raises(ConfigException, match="linger_ms: no keywords may follow a finished configuration"):
        ProducerConfig.of(config, {"linger_ms": 3})


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        # What java.time.Duration.parse makes of them.
        ("P1D", 86_400_000),
        ("-P1D", -86_400_000),
        ("P-1DT25H", 3_600_000),
        ("-PT-5S", 5_000),
        ("+PT5S", 5_000),
        ("pt1.5s", 1_500),
        ("PT1,5S", 1_500),
        ("PT1.S", 1_000),
        ("PT-0.5S", -500),
        ("PT1H1M1.123456789S", 3_661_123),
        ("PT1.1234567891S", None),
        ("PT1.5H", None),
        ("PT1M1H", None),
        ("PT.5S", None),
        ("P1DT", None),
        ("PT", None),
        ("P", None),
        ("P1H", None),
        ("P1W", None),
        ("--PT5S", None),
        ("", None),
    ],
)
def test_durations_are_read_as_java_reads_them(text: str, duration_ms: int | None) -> None:
    assert duration_to_ms(text) == duration_ms


def test_reset_strategies() -> None:
    assert reset_strategy("by_duration:PT1H") == ("by_duration", 3_600_000)
    assert reset_strategy("earliest") == ("earliest", 0)
    assert reset_strategy("by_duration:-PT1H") is None
    assert reset_strategy("BY_DURATION:PT1H") is None
