"""Descriptions of the keys of `producer_keys.py`."""

TEXTS = {
    "acks": (
        "When the broker responds: `all` after all in-sync replicas have the records, 1 after the leader has them, 0 "
        "never. With 0, lost records are not detected."
    ),
    "batch.size": (
        "Maximum bytes of records of one partition in a batch. A larger record is sent alone. 0 sends each record "
        "alone."
    ),
    "bootstrap.servers": (
        "Bootstrap servers, as HOST:PORT,HOST:PORT. The client gets the addresses of all other brokers from them."
    ),
    "buffer.memory": (
        "Maximum bytes of records that are not acknowledged yet. Beyond it, `send` blocks for up to max.block.ms."
    ),
    "client.id": "Name of the client in the logs, metrics and quotas of brokers.",
    "compression.gzip.level": "Compression level of gzip. -1 is the library's default.",
    "compression.lz4.level": "Compression level of lz4.",
    "compression.type": "Compression codec of batches.",
    "compression.zstd.level": "Compression level of zstd.",
    "connections.max.idle.ms": "Maximum idle time of a connection. The client closes idle connections. -1 means never.",
    "delivery.timeout.ms": (
        "Maximum time until a record is acknowledged or has failed, including all retries. At least linger.ms plus "
        "request.timeout.ms."
    ),
    "enable.idempotence": (
        "Whether the broker discards duplicates and keeps the order, so that retries neither duplicate nor reorder "
        "records. Needs acks=all, retries, and at most 5 requests in flight. If it is not set explicitly, other values "
        "of acks or retries disable it."
    ),
    "enable.metrics.push": "Whether brokers may request metrics of the client (KIP-714).",
    "interceptor.classes": (
        "Objects with `on_send(record)`, which may change a record before it is sent, and "
        "`on_acknowledgement(metadata, exception)`."
    ),
    "key.serializer": "Converts a key to bytes: a function, or an object with `serialize(topic, value)`.",
    "linger.ms": (
        "Time that a batch waits for more records. With 0, a batch is sent at once if no request of its partition is "
        "in flight. Otherwise it is sent when it is full, or when the request in flight is answered."
    ),
    "max.block.ms": (
        "Maximum time that `send` waits for memory or metadata, and that the methods for transactions wait for the "
        "broker."
    ),
    "max.in.flight.requests.per.connection": (
        "Maximum number of unanswered requests per connection. With more than 1 and without idempotence, a retry can "
        "reorder batches."
    ),
    "max.request.size": "Maximum size of a request, and of a record before compression.",
    "metadata.max.idle.ms": "Time without a record after which the metadata of a topic is dropped.",
    "partitioner.adaptive.partitioning.enable": (
        "Whether the built-in partitioner sends more records without a key to faster brokers (KIP-794)."
    ),
    "partitioner.availability.timeout.ms": (
        "Time that batches may wait for a broker before records without a key avoid it. 0 means no limit. Needs "
        "partitioner.adaptive.partitioning.enable."
    ),
    "partitioner.class": (
        "Partitioner. Default: the built-in one, which hashes the key, and distributes records without a key by "
        "batches. Also the name of a partitioner of Kafka, or a function of topic, key and partitions."
    ),
    "partitioner.ignore.keys": "Whether the built-in partitioner ignores keys.",
    "receive.buffer.bytes": "Receive buffer of a connection (SO_RCVBUF). -1 leaves it to the kernel.",
    "retries": "Maximum number of retries of a batch, within delivery.timeout.ms. Set delivery.timeout.ms instead.",
    "transaction.timeout.ms": (
        "Maximum time that a transaction may be open. After it, the broker aborts the transaction."
    ),
    "transaction.two.phase.commit.enable": "Whether an external coordinator decides about transactions (KIP-939).",
    "transactional.id": (
        "Id of the producer for transactions, the same after a restart. A new producer with an id fences the old one. "
        "Required for transactions."
    ),
    "value.serializer": "Converts a value to bytes: a function, or an object with `serialize(topic, value)`.",
}
