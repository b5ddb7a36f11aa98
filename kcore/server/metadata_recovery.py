"""Startup with a lost or damaged metadata store while the log directories still have partitions.

A store is considered lost if it is unused and the log directories have partitions. Starting with it would set every log
aside as unknown, so the broker refuses to start. With `--rebuild-metadata`, it does the following instead:

1. Plan the topics from the directories (`kcore.controller.metadata_rebuild`).
2. Load their logs, which gives leader epochs and producer ids.
3. Write the topics in one transaction. Until it commits, the store counts as lost, so a crash changes nothing.

A sound store is used as it is, with or without the option.
"""

from __future__ import annotations

from kcore.controller.metadata_rebuild import NOT_RECOVERED, SPARED_PRODUCER_IDS, rebuild_metadata
from kcore.controller.metadata_store import MetadataStoreError
from kcore.logger import get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from kcore.config.broker import BrokerConfig
    from kcore.controller.metadata_rebuild import RebuiltMetadata
    from kcore.controller.metadata_store import MetadataStore
    from kcore.storage.log_dir_scan import FoundPartition
    from kcore.storage.log_manager import LogManager

LOG = get_logger("kcore.server.metadata_recovery")

TOPICS_NAMED = 5


def refuse_lost_metadata(store: MetadataStore, found: list[FoundPartition]) -> NoReturn:
    """Raises MetadataStoreError with the lost topics and the possible remedies."""
    topics = sorted({partition.topic for partition in found})
    named = ", ".join(topics[:TOPICS_NAMED]) + (
        f" and {len(topics) - TOPICS_NAMED} more" * (len(topics) > TOPICS_NAMED)
    )
    raise MetadataStoreError(
        f"{store.name} is lost: it is empty or missing, but the log directories have {len(found)} partitions of topics "
        f"{named} (the first is {found[0].path}). Restore the file from a backup. If the file is in another directory, "
        "correct metadata.log.dir. If it is lost, start with --rebuild-metadata: this rebuilds topics, their ids and "
        "partitions from the log directories, but not their configurations"
    )


def plan(store: MetadataStore, logs: LogManager, config: BrokerConfig, broker_id: int) -> RebuiltMetadata:
    """Plans the topics from the directories. Raises MetadataStoreError if they conflict or one is unreadable."""
    offline = logs.offline_directories()
    if offline:
        raise MetadataStoreError(
            f"{store.name} cannot be rebuilt without the log directories {', '.join(offline)}, which may have more "
            "topics. Repair them, or remove them from log.dirs"
        )
    rebuilt = rebuild_metadata(logs.found_partitions(), broker_id, config)
    for name, topic in rebuilt.topics.items():
        LOG.info("Found topic %s with %d partitions", name, len(topic.partitions))
    return rebuilt


def restore(store: MetadataStore, logs: LogManager, rebuilt: RebuiltMetadata) -> None:
    """Writes the planned topics to the store. Their logs must be loaded."""
    epoch, producer_id = logs.highest_leader_epoch(), logs.highest_producer_id()
    # Each start of the broker raised the epochs of all partitions that it led, so all are near the highest one.
    topics = rebuilt.with_leader_epoch(max(epoch, 0))
    next_producer_id = producer_id + 1 + SPARED_PRODUCER_IDS if producer_id >= 0 else SPARED_PRODUCER_IDS
    store.restore_topics(topics.values(), rebuilt.overrides, next_producer_id)
    partitions = sum(len(topic.partitions) for topic in topics.values())
    LOG.warn(
        "Rebuilt the metadata of %d topics with %d partitions from the log directories, at leader epoch %d",
        *(len(topics), partitions, epoch),
    )
    for remark in (*rebuilt.remarks, NOT_RECOVERED):
        LOG.warn("%s", remark)
