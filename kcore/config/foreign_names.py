"""Unknown names in a broker's properties, and which of them are legitimate.

Apache Kafka ignores all unknown names, because plugins read them. So a misspelt name has no effect there, without a
warning. Here it is an error, unless it is a configuration of another release of Apache Kafka or has the prefix of a
plugin. Imported only for unknown names.
"""

from __future__ import annotations

from kcore.config.broker_keys import BROKER_KEYS
from kcore.config.definition import ConfigException, nearest_name
from kcore.config.listener_names import LISTENER_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Broker configurations of Apache Kafka 2.8 to 4.3 that are not defined here (tests/vectors/config).
OTHER_RELEASES = frozenset(
    (
        "add.partitions.to.txn.retry.backoff.max.ms",
        "add.partitions.to.txn.retry.backoff.ms",
        "advertised.host.name",
        "advertised.port",
        "config.providers",
        "controller.performance.always.log.threshold.ms",
        "controller.performance.sample.period.ms",
        "controller.quorum.auto.join.enable",
        "controller.quorum.fetch.max.bytes",
        "controller.quorum.fetch.snapshot.max.bytes",
        "cordoned.log.dirs",
        "follower.fetch.last.tiered.offset.enable",
        "group.consumer.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.regex.refresh.interval.ms",
        "group.coordinator.background.threads",
        "group.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.share.assignors",
        "group.share.initialize.retry.interval.ms",
        "group.share.max.assignment.interval.ms",
        "group.share.max.delivery.count.limit",
        "group.share.max.partition.max.record.locks",
        "group.share.max.share.sessions",
        "group.share.min.assignment.interval.ms",
        "group.share.min.delivery.count.limit",
        "group.share.min.partition.max.record.locks",
        "group.share.persister.class.name",
        "group.streams.assignment.interval.ms",
        "group.streams.heartbeat.interval.ms",
        "group.streams.initial.rebalance.delay.ms",
        "group.streams.max.assignment.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
        "group.streams.max.session.timeout.ms",
        "group.streams.max.size",
        "group.streams.max.standby.replicas",
        "group.streams.min.assignment.interval.ms",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.min.session.timeout.ms",
        "group.streams.num.standby.replicas",
        "group.streams.session.timeout.ms",
        "host.name",
        "internal.metadata.delete.delay.millis",
        "internal.metadata.log.segment.bytes",
        "internal.metadata.max.batch.size.in.bytes",
        "port",
        "quota.consumer.default",
        "quota.producer.default",
        "remote.list.offsets.request.timeout.ms",
        "remote.log.index.file.cache.ttl.ms",
        "remote.log.manager.follower.thread.pool.size",
        "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope",
        "share.coordinator.append.linger.ms",
        "share.coordinator.cached.buffer.max.bytes",
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "share.coordinator.load.buffer.size",
        "share.coordinator.snapshot.update.records.per.snapshot",
        "share.coordinator.state.topic.compression.codec",
        "share.coordinator.state.topic.min.isr",
        "share.coordinator.state.topic.num.partitions",
        "share.coordinator.state.topic.prune.interval.ms",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.segment.bytes",
        "share.coordinator.threads",
        "share.coordinator.write.timeout.ms",
        "share.fetch.purgatory.purge.interval.requests",
        "transaction.two.phase.commit.enable",
        "unstable.metadata.versions.enable",
        "zookeeper.sync.time.ms",
    )
)

# Apache Kafka's authorizers, metrics context, configuration providers and tiered storage; then common distributions.
PLUGIN_NAMES = frozenset(("allow.everyone.if.no.acl.found", "super.users"))
PLUGIN_PREFIXES = (
    "authorizer.zookeeper.",
    "config.providers.",
    "kafka.csv.metrics.",
    "kafka.metrics.",
    "metrics.context.",
    "metrics.jmx.",
    "rlmm.config.",
    "rsm.config.",
    "client.quota.callback.static.",
    "confluent.",
    "cruise.control.",
    "strimzi.",
)


def remark(name: str) -> str | None:
    """The warning about a legitimate name; None for any other name."""
    if name in OTHER_RELEASES or _is_of_listener(name):
        return f"{name} has no effect in this version"
    if name in PLUGIN_NAMES or name.startswith(PLUGIN_PREFIXES):
        return f"{name} has no effect: it belongs to a plugin, and kcli loads no plugins"
    return None


def _is_of_listener(name: str) -> bool:
    """Whether a name is `listener.name.LISTENER.KEY`, or `listener.name.LISTENER.MECHANISM.KEY` (KIP-103, KIP-86)."""
    if not name.startswith(LISTENER_PREFIX):
        return False
    key = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
    return key in BROKER_KEYS or key.partition(".")[2] in BROKER_KEYS


def unknown_name(name: str, known: Iterable[str], remedy: str) -> ConfigException:
    """The error for an unknown name. `remedy` is the advice if no known name is similar."""
    near = nearest_name(name, known)
    advice = remedy if near is None else f"did you mean {near}?"
    return ConfigException(f"unknown configuration {name}; {advice}", name)
