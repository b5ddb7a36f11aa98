"""What the keys of `quorum_keys.py` are for."""

TEXTS = {
    "broker.heartbeat.interval.ms": "How often a KRaft broker sends its controller a heartbeat.",
    "broker.session.timeout.ms": "After how long without a heartbeat a KRaft broker is fenced.",
    "controller.performance.always.log.threshold.ms": (
        "How long an event of the KRaft controller may take before it is always logged."
    ),
    "controller.performance.sample.period.ms": "How often the KRaft controller logs how long its events take.",
    "controller.quorum.append.linger.ms": "How long a Raft leader collects records before it writes them.",
    "controller.quorum.auto.join.enable": "Whether a KRaft controller joins the voters of the quorum by itself.",
    "controller.quorum.bootstrap.servers": (
        "KRaft's controllers to ask for the quorum; accepted and unused, as there is no Raft quorum here."
    ),
    "controller.quorum.election.backoff.max.ms": "The longest pause before a Raft candidate stands again.",
    "controller.quorum.election.timeout.ms": "How long a Raft voter waits for votes before it calls a new election.",
    "controller.quorum.fetch.max.bytes": "The most bytes of the metadata log that one fetch of the quorum returns.",
    "controller.quorum.fetch.snapshot.max.bytes": (
        "The most bytes of a metadata snapshot that one fetch of the quorum returns."
    ),
    "controller.quorum.fetch.timeout.ms": (
        "How long a Raft voter does without the leader before it stands for election."
    ),
    "controller.quorum.request.timeout.ms": "How long a request among Raft voters may take.",
    "controller.quorum.retry.backoff.ms": "The pause before a failed request among Raft voters is sent again.",
    "controller.quorum.voters": "KRaft's voters; accepted and unused, as there is no Raft quorum here.",
    "initial.broker.registration.timeout.ms": "How long a KRaft broker may take to be registered before it gives up.",
    "internal.metadata.delete.delay.millis": (
        "How long a deleted segment or snapshot of KRaft's metadata log stays on disk. For Kafka's own tests."
    ),
    "internal.metadata.log.segment.bytes": "The size of a segment of KRaft's metadata log. For Kafka's own tests.",
    "internal.metadata.max.batch.size.in.bytes": "The largest batch of KRaft's metadata log. For Kafka's own tests.",
    "metadata.log.max.record.bytes.between.snapshots": (
        "After how many bytes of metadata records KRaft writes a snapshot."
    ),
    "metadata.log.max.snapshot.interval.ms": (
        "After how long at the latest KRaft writes a snapshot, when there is anything new."
    ),
    "metadata.log.segment.bytes": "The largest segment of KRaft's metadata log.",
    "metadata.log.segment.min.bytes": "The smallest segment of KRaft's metadata log that tests may ask for.",
    "metadata.log.segment.ms": "After how long KRaft's metadata log begins a new segment.",
    "metadata.max.idle.interval.ms": "How often an idle KRaft controller writes a no-op record.",
    "metadata.max.retention.bytes": "The bytes of metadata log and snapshots that KRaft keeps.",
    "metadata.max.retention.ms": "How long KRaft keeps metadata segments and snapshots.",
    "server.max.startup.time.ms": "How long the start of a KRaft server may take before it gives up.",
    "unstable.api.versions.enable": "Whether versions of APIs that are still being worked on are served.",
    "unstable.feature.versions.enable": "Whether versions of features that are still being worked on may be finalized.",
}
