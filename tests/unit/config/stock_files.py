"""The settings of the server.properties files that Apache Kafka ships, without their comments."""

from __future__ import annotations

COMMON = """
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.retention.check.interval.ms=300000
"""

# config/server.properties of 3.9
ZOOKEEPER = (
    COMMON
    + """
broker.id=0
log.dirs=/tmp/kafka-logs
zookeeper.connect=localhost:2181
zookeeper.connection.timeout.ms=18000
group.initial.rebalance.delay.ms=0
"""
)

# config/kraft/server.properties of 3.9
KRAFT_3_9 = (
    COMMON
    + """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,\
SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
log.dirs=/tmp/kraft-combined-logs
log.segment.bytes=1073741824
"""
)

# config/server.properties of 4.1
KRAFT_4 = KRAFT_3_9.replace(
    "controller.quorum.voters=1@localhost:9093", "controller.quorum.bootstrap.servers=localhost:9093"
).replace(
    "advertised.listeners=PLAINTEXT://localhost:9092",
    "advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
) + ("share.coordinator.state.topic.replication.factor=1\nshare.coordinator.state.topic.min.isr=1\n")
