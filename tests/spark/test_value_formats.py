"""Values of Avro, read and written by Spark's own functions in a pipeline, from topic to topic.

The bytes are made here, as Avro's specification has them, and not by Spark.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from kspark.pipeline.definition import read_pipeline
from kspark.pipeline.findings import Findings
from kspark.pipeline.frames import Frames
from kspark.pipeline.run import Run
from tests.spark.reading import records
from tests.spark.session import own_name

pytestmark = [pytest.mark.needs("java"), pytest.mark.usefixtures("connector")]

# Carrier and delay; flights that never departed have none.
FLIGHTS: list[tuple[str, int | None]] = [("UA", 2), ("AA", 33), ("B6", None), ("Ü", 1_000_000), ("DL", -6)]
LATE = [flight for flight in FLIGHTS if (flight[1] or 0) > 15]
AVRO_SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Flight",
        "fields": [{"name": "carrier", "type": "string"}, {"name": "delay", "type": ["null", "int"]}],
    }
)
FILE = '''
name = "formats"
checkpoint = "checkpoint"

[sources.flights]
format = "kcli"
stream = true
options = {{ "kafka.bootstrap.servers" = "{server}", subscribe = "{topic}", startingOffsets = "earliest" }}
value = {{ format = "avro", schema = '{schema}', keep = ["key"] }}

[steps.late]
sql = "select key, struct(carrier, delay) as flight from flights where delay > 15"

[steps.written]
sql = """select key, to_avro(flight, '{written}') as value from late"""

[sinks.topic]
from = "written"
format = "kcli"
trigger = "available-now"
options = {{ "kafka.bootstrap.servers" = "{server}", topic = "{target}" }}
'''


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def avro(carrier: str, delay: int | None) -> bytes:
    text = carrier.encode()
    return zigzag(len(text)) + text + (zigzag(0) if delay is None else zigzag(1) + zigzag(delay))


@pytest.mark.parametrize("schema", [AVRO_SCHEMA, "flight.avsc"], ids=["text", "file"])
def test_avro_is_read_and_written(spark: SparkSession, broker: EmbeddedBroker, tmp_path: Path, schema: str) -> None:
    topic, target = own_name("flights"), own_name("late")
    (tmp_path / "flight.avsc").write_text(AVRO_SCHEMA)
    text = FILE.format(server=broker.bootstrap_servers, topic=topic, target=target, schema=schema, written=AVRO_SCHEMA)
    (tmp_path / "formats.toml").write_text(text)
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for carrier, delay in FLIGHTS:
            producer.send(topic, avro(carrier, delay), key=carrier.encode())
    pipeline = read_pipeline(str(tmp_path / "formats.toml"))
    frames = Frames(spark, pipeline)
    findings = Findings()
    frames.build(findings)
    findings.raise_mistakes()
    run = Run(pipeline, frames)
    run.start()
    for _ in run.watch():
        pass
    assert run.stop()
    found = [(record.key, record.value) for record in records(broker, target)]
    assert found == [(carrier.encode(), avro(carrier, delay)) for carrier, delay in LATE]
