"""Looks up a pipeline's topics in their clusters before Spark starts.

Each cluster is asked once. A topic that a source names must exist. Two cases are only warnings: a sink's topic is
missing and the broker may create it (auto.create.topics.enable), or a pattern does not match a topic yet.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin import Admin
from kcore.client.admin.configs import BROKER_RESOURCE, ConfigResource
from kcore.client.admin.results import succeeded
from kcore.client.errors import BrokerUnreachable, ClientError, ClientTimeout
from kcore.config.definition import ConfigException
from kcore.errors import KafkaError
from kspark.options import OptionError, Options
from kspark.pipeline.findings import hint
from kspark.pipeline.part_options import TOPICS
from kspark.source_options import SERVERS, wanted_topics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kspark.pipeline.definition import Pipeline
    from kspark.pipeline.findings import Findings
    from kspark.source_options import Wanted

# Defaults, if the file sets neither of them.
TIMEOUTS = {"request.timeout.ms": "10000", "default.api.timeout.ms": "10000"}
AUTO_CREATES = "auto.create.topics.enable"


class _Topics(NamedTuple):
    """Topics of one cluster.

    `creates` is whether the broker creates a missing topic for its first record; None: unknown.
    """

    servers: str
    partition_counts: dict[str, int]
    internal: frozenset[str]
    creates: bool | None


def check_topics(pipeline: Pipeline, findings: Findings) -> None:
    clusters = _Clusters(findings)
    for source in pipeline.sources:
        if source.format == TOPICS:
            options = Options(source.options)
            try:
                wanted = wanted_topics(options)
            except OptionError:
                continue  # a mistake of the options, which their check reports
            topics = clusters.topics(options, f"sources.{source.name}")
            if topics is not None:
                _check_source(wanted, topics, f"sources.{source.name}.options", findings)
    for sink in pipeline.sinks:
        if sink.format == TOPICS:
            options = Options(sink.options)
            topics, name = clusters.topics(options, f"sinks.{sink.name}"), options.text("topic")
            if topics is not None and name is not None and name not in topics.partition_counts:
                _report_missing_target(name, topics, f"sinks.{sink.name}.options.topic", findings)


class _Clusters:
    """Asks each cluster once, because several parts of a pipeline often use the same cluster."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._asked: dict[frozenset[tuple[str, str]], _Topics | None] = {}
        self._unreachable: set[str] = set()

    def topics(self, options: Options, place: str) -> _Topics | None:
        """Return the cluster's topics; None on failure, which is reported for the first part that uses the cluster."""
        settings = options.of_client()
        servers, key = settings.get(SERVERS), frozenset(settings.items())
        if not servers or servers in self._unreachable:
            return None
        if key not in self._asked:
            self._asked[key] = self._ask(servers, settings, place)
        return self._asked[key]

    def _ask(self, servers: str, settings: dict[str, str], place: str) -> _Topics | None:
        try:
            with Admin(settings if TIMEOUTS.keys() & settings else {**TIMEOUTS, **settings}) as admin:
                return _topics(servers, admin)
        except (BrokerUnreachable, ClientTimeout) as error:
            self._unreachable.add(servers)
            self._findings.unreachable.append(
                f"{place}: cannot connect to {servers} ({error}), so its topics were not checked. "
                "Is the broker running? Start one with: kcli server-start"
            )
        except (ClientError, KafkaError, ConfigException) as error:
            self._findings.warnings.append(f"{place}: the topics at {servers} were not checked: {error}")
        return None


def _topics(servers: str, admin: Admin) -> _Topics:
    listed = admin.list_topics(include_internal=True)
    return _Topics(
        servers,
        {topic.name: len(topic.partitions) for topic in listed},
        frozenset(topic.name for topic in listed if topic.is_internal),
        _creates(admin),
    )


def _creates(admin: Admin) -> bool | None:
    """Return auto.create.topics.enable of the first broker, as brokers usually agree; None if it is not known."""
    resources = [ConfigResource(BROKER_RESOURCE, str(broker.id)) for broker in admin.brokers()[:1]]
    try:
        described = succeeded(admin.describe_configs(resources, [AUTO_CREATES]))
    except (ClientError, KafkaError):
        return None
    values = {config.name: config.value for configs in described.values() for config in configs}
    return {"true": True, "false": False}.get(values.get(AUTO_CREATES) or "")


def _check_source(wanted: Wanted, topics: _Topics, place: str, findings: Findings) -> None:
    for name in sorted(wanted.topics or ()):
        if name not in topics.partition_counts:
            _report_missing(name, topics, f"{place}.subscribe", findings)
    for partition in sorted(wanted.partitions or ()):
        count = topics.partition_counts.get(partition.topic)
        if count is None:
            _report_missing(partition.topic, topics, f"{place}.assign", findings)
        elif not 0 <= partition.partition < count:
            findings.mistake(
                f"{place}.assign",
                f"topic {partition.topic} has no partition {partition.partition}; it has 0 to {count - 1}",
            )
    if wanted.pattern is not None:
        names = topics.partition_counts.keys() - topics.internal
        if not any(wanted.pattern.fullmatch(name) for name in names):
            findings.warnings.append(
                f"{place}.subscribePattern: {wanted.pattern.pattern} matches no topic at {topics.servers} yet; the "
                "source waits for one"
            )


def _report_missing(name: str, topics: _Topics, place: str, findings: Findings) -> None:
    near = hint(name, topics.partition_counts) or "."
    remedy = f"Create it with: kcli topics create --topic {name}"
    findings.mistake(place, f"topic {name} does not exist at {topics.servers}{near} {remedy}")


def _report_missing_target(name: str, topics: _Topics, place: str, findings: Findings) -> None:
    if topics.creates is False:
        _report_missing(name, topics, place, findings)
        return
    how = f"the broker creates it for the first record ({AUTO_CREATES})"
    findings.warnings.append(
        f"{place}: topic {name} does not exist at {topics.servers}; "
        + (how if topics.creates else f"create it, unless {how}")
    )
