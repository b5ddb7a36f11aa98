"""Where the configurations of brokers and topics differ from Apache Kafka 4.3's, and why (docs/configuration.md).

`tests/unit/config/test_definitions_against_kafka.py` compares every definition and has the same differences by name.
"""

HEAD = ("configuration", "Kafka 4.3", "kcli", "reason")
DIFFERENCES = (
    (
        "`segment.bytes`, `log.segment.bytes`",
        "at least 1 MiB",
        "at least 14 bytes, as in 3.9",
        "Topics of 3.9 may have smaller segments, and tests need many segments.",
    ),
    (
        "`internal.segment.bytes`",
        "smaller segments, for Kafka's own tests",
        "unknown",
        "`segment.bytes` may be small.",
    ),
    (
        "`message.timestamp.difference.max.ms`",
        "removed",
        "used as in 3.9, for a limit that is not set; shown if it is set",
        "Topics of 3.9 keep their limits.",
    ),
    (
        "`message.format.version`, `message.downconversion.enable`",
        "removed",
        "accepted, not used; shown if they are set",
        "Clients of 3.9 set them when they create topics.",
    ),
    (
        "`log.message.timestamp.difference.max.ms`",
        "removed",
        "used as in 3.9",
        "Topics of 3.9 keep their limits.",
    ),
    (
        "configurations of ZooKeeper, `password.encoder.*`, and the others that Kafka 4 has removed from the broker",
        "removed",
        "accepted as in 3.9",
        "A properties file of 3.9 starts unmodified.",
    ),
    (
        "`node.id`, `process.roles`",
        "required",
        "optional",
        "A broker starts without any configuration.",
    ),
    (
        "`group.coordinator.rebalance.protocols`",
        "`classic,consumer,streams`",
        "`classic,consumer`",
        "kcli has no streams groups.",
    ),
    (
        "`socket.send.buffer.bytes`, `socket.receive.buffer.bytes`",
        "102400",
        "-1, the kernel's choice",
        "The kernel adapts the buffers to each connection.",
    ),
    (
        "`listeners`, `advertised.listeners`, `controller.listener.names`, `early.start.listeners`, "
        "`log.dir`, `log.dirs`",
        "type list",
        "type string",
        "The same values are accepted.",
    ),
    (
        "`advertised.listeners`",
        "read-only",
        "per-broker, as in 3.9",
        "Its mode is that of 3.9. kcli rejects a change while the broker runs.",
    ),
    (
        "configurations of type list",
        "duplicate items are rejected",
        "accepted, as in 3.9",
        "A properties file of 3.9 starts unmodified.",
    ),
)
