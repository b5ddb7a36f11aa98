"""Descriptions of the configurations in `quorum_keys.py`."""

TEXTS = {
    "broker.heartbeat.interval.ms": "Interval between heartbeats of a KRaft broker to its controller.",
    "broker.session.timeout.ms": "Time without a heartbeat after which a KRaft broker is fenced.",
    "controller.performance.always.log.threshold.ms": (
        "Minimum duration of an event of the KRaft controller that is always logged."
    ),
    "controller.performance.sample.period.ms": (
        "Interval at which the KRaft controller logs the durations of its events."
    ),
    "controller.quorum.append.linger.ms": "Time that a Raft leader collects records before it writes them.",
    "controller.quorum.auto.join.enable": "Whether a KRaft controller joins the voters of the quorum by itself.",
    "controller.quorum.bootstrap.servers": (
        "Addresses of KRaft controllers. Accepted without effect: kcli has no Raft quorum."
    ),
    "controller.quorum.election.backoff.max.ms": "Maximum pause before a Raft candidate starts another election.",
    "controller.quorum.election.timeout.ms": "Time that a Raft voter waits for votes before it starts a new election.",
    "controller.quorum.fetch.max.bytes": "Maximum bytes of the metadata log in one fetch of the quorum.",
    "controller.quorum.fetch.snapshot.max.bytes": "Maximum bytes of a metadata snapshot in one fetch of the quorum.",
    "controller.quorum.fetch.timeout.ms": (
        "Time without a fetch from the leader after which a Raft voter starts an election."
    ),
    "controller.quorum.request.timeout.ms": "Timeout of requests between Raft voters.",
    "controller.quorum.retry.backoff.ms": "Pause before a failed request between Raft voters is retried.",
    "controller.quorum.voters": "KRaft voters. Accepted without effect: kcli has no Raft quorum.",
    "initial.broker.registration.timeout.ms": "Maximum time for the registration of a KRaft broker at its start.",
    "internal.metadata.delete.delay.millis": (
        "Time that a deleted segment or snapshot of KRaft's metadata log stays on disk. For Kafka's own tests."
    ),
    "internal.metadata.log.segment.bytes": "Segment size of KRaft's metadata log. For Kafka's own tests.",
    "internal.metadata.max.batch.size.in.bytes": "Maximum batch size of KRaft's metadata log. For Kafka's own tests.",
    "metadata.log.max.record.bytes.between.snapshots": "Bytes of metadata records after which KRaft writes a snapshot.",
    "metadata.log.max.snapshot.interval.ms": "Maximum time between two snapshots of KRaft, if there are new records.",
    "metadata.log.segment.bytes": "Maximum segment size of KRaft's metadata log.",
    "metadata.log.segment.min.bytes": "Minimum segment size of KRaft's metadata log that tests may set.",
    "metadata.log.segment.ms": "Time after which KRaft's metadata log rolls a new segment.",
    "metadata.max.idle.interval.ms": "Interval at which an idle KRaft controller writes a no-op record.",
    "metadata.max.retention.bytes": "Maximum bytes of metadata log and snapshots that KRaft keeps.",
    "metadata.max.retention.ms": "Time that KRaft keeps metadata segments and snapshots.",
    "server.max.startup.time.ms": "Maximum time for the start of a KRaft server.",
    "unstable.api.versions.enable": "Whether unstable API versions are served.",
    "unstable.feature.versions.enable": "Whether unstable feature levels may be finalized.",
}
