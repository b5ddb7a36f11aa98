"""What the keys of `producer_keys.py` are for."""

TEXTS = {
    "acks": (
        "When the broker answers: `all` when every replica in sync has the records, 1 when the leader has them, 0 "
        "never, so that nothing is known of what was sent."
    ),
    "batch.size": (
        "The bytes of records of one partition that are sent as one batch at most; what is larger goes alone. 0 sends "
        "every record alone."
    ),
    "bootstrap.servers": "Brokers to begin with, HOST:PORT,HOST:PORT; the others are learnt from them.",
    "buffer.memory": (
        "The bytes that records may take which are not acknowledged yet; beyond it, sending waits for max.block.ms."
    ),
    "client.id": "The name by which the client is known to brokers: their logs, metrics and quotas.",
    "compression.gzip.level": "How hard gzip tries; -1 is its own default.",
    "compression.lz4.level": "How hard lz4 tries.",
    "compression.type": "The codec that batches are compressed with.",
    "compression.zstd.level": "How hard zstd tries.",
    "connections.max.idle.ms": "After how long without use a connection is closed; -1 never.",
    "delivery.timeout.ms": (
        "How long after it was sent a record is either acknowledged or has failed, with all retries. At least "
        "linger.ms and request.timeout.ms together."
    ),
    "enable.idempotence": (
        "Whether the broker drops what it gets twice and keeps the order, so that retries neither repeat nor reorder "
        "records. Needs acks=all, retries, and at most 5 requests in flight; without being asked for, it goes off "
        "where acks or retries rule it out."
    ),
    "enable.metrics.push": "Whether brokers may ask the client for its metrics (KIP-714).",
    "interceptor.classes": (
        "Objects with `on_send(record)`, which may change a record before it is sent, and "
        "`on_acknowledgement(metadata, exception)`."
    ),
    "key.serializer": "Turns a record's key into bytes: a function, or an object with `serialize(topic, value)`.",
    "linger.ms": (
        "How long a batch waits for more records before it is sent. Without it, a batch is sent at once when nothing "
        "of its partition is on the way, and else when it is full or what is on the way was answered."
    ),
    "max.block.ms": "How long sending may wait for memory or metadata, and a transaction's methods for the broker.",
    "max.in.flight.requests.per.connection": (
        "How many requests to a broker may be unanswered at a time. With more than 1 and no idempotence, a retry may "
        "change the order of batches."
    ),
    "max.request.size": "The largest request, and the largest record before compression.",
    "metadata.max.idle.ms": "After how long without a record for it a topic's metadata is forgotten.",
    "partitioner.adaptive.partitioning.enable": (
        "Whether records without a key go to brokers by how fast these answer (KIP-794); with the built-in "
        "partitioner only."
    ),
    "partitioner.availability.timeout.ms": (
        "How long a broker may leave batches waiting before records without a key avoid it; 0 never. Needs "
        "partitioner.adaptive.partitioning.enable."
    ),
    "partitioner.class": (
        "What chooses partitions: none for the built-in one (a hash of the key, or by batches without one), the name "
        "of one of Kafka's, or a function of topic, key and partitions."
    ),
    "partitioner.ignore.keys": "Whether the built-in partitioner takes records with a key like those without.",
    "receive.buffer.bytes": "The size of a connection's receive buffer (SO_RCVBUF); -1 leaves it to the kernel.",
    "retries": "How often a batch is sent again within delivery.timeout.ms, which is what is better limited.",
    "transaction.timeout.ms": "How long a transaction may be open before the broker aborts it.",
    "transaction.two.phase.commit.enable": "Whether an outside coordinator decides about transactions (KIP-939).",
    "transactional.id": (
        "The producer's name in transactions, the same after a restart; a newer producer of a name shuts an older one "
        "out. Transactions need it."
    ),
    "value.serializer": "Turns a record's value into bytes: a function, or an object with `serialize(topic, value)`.",
}
