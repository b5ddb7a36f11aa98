"""CreateTopics (key 19): creates topics. Each topic succeeds or fails independently.

v4 lets the broker choose partitions and replicas (KIP-464), v5 returns the new topic's configurations (KIP-525), v6 may
answer THROTTLING_QUOTA_EXCEEDED (KIP-599), v7 returns the topic id. Before the response, the controller has made the
topic's metadata durable, and this broker has created its logs.
"""

from __future__ import annotations

from kcore import errors
from kcore.controller.new_topic import NewTopic
from kcore.server.config_description import describe_topic
from kcore.server.mutation_quota import mutation_quota

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.controller.new_topic import TopicResult
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_CONFIGS = 5
FIRST_WITH_QUOTA = 6
CONFIG_FIELDS = ("name", "value", "read_only", "config_source", "is_sensitive")


def handle(context: RequestContext, request: Any) -> Fields:
    """Passes the topics to the controller."""
    results = context.broker.controller.create_topics(
        [new_topic(asked) for asked in request.topics],
        request.validate_only,
        mutation_quota(context, FIRST_WITH_QUOTA),
    )
    overrides = {asked.name: {config.name: config.value for config in asked.configs} for asked in request.topics}
    return {"topics": [describe(context, result, overrides[result.name]) for result in results]}


def new_topic(asked: Any) -> NewTopic:
    """Converts a topic of the request for the controller."""
    return NewTopic(
        asked.name,
        asked.num_partitions,
        asked.replication_factor,
        [(assignment.partition_index, assignment.broker_ids) for assignment in asked.assignments],
        {config.name: config.value for config in asked.configs},
    )


def describe(context: RequestContext, result: TopicResult, overrides: dict[str, str]) -> Fields:
    """The response of one topic: its properties, or its error."""
    if result.error is not None or result.topic is None:
        error = result.error or errors.UnknownServerError()
        return {"name": result.name, "error_code": error.code, "error_message": error.detail}
    fields: dict[str, Any] = {
        "name": result.name,
        "error_message": None,
        "topic_id": result.topic_id,
        "num_partitions": len(result.topic.partitions),
        "replication_factor": result.topic.replication_factor,
    }
    if context.api_version >= FIRST_WITH_CONFIGS:
        described = describe_topic(context.broker.config, overrides)
        # Values that were set are returned as written in the request.
        fields["configs"] = [
            {**{name: config[name] for name in CONFIG_FIELDS}, "value": overrides.get(config["name"], config["value"])}
            for config in described
        ]
    return fields


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every topic."""
    return {
        "topics": [
            {"name": name, "error_code": error.code, "error_message": str(error)}
            for name in dict.fromkeys(asked.name for asked in request.topics)
        ]
    }
