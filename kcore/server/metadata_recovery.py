"""What a start does about a metadata store that was lost or damaged, while the directories of topics are still there.

A store in which nobody ever was controller beside directories of partitions is a lost one: starting with it would set
every log aside as unknown. It is refused by name, unless the operator asks for `--rebuild-metadata`: then topics are
planned from the directories (`kcore.controller.metadata_rebuild`), their logs are loaded, which tells leader epochs and
producer ids, and one transaction makes them known. Until that is committed the store counts as lost, so that a crash in
between changes nothing. A store that is there and sound is used as it is, whatever was asked for.
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
    """MetadataStoreError, which names what was lost and what can be done."""
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
    """What the directories say; MetadataStoreError when they contradict each other or one cannot be read."""
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
    """Makes the planned topics known, now that their logs have been loaded."""
    epoch, producer_id = logs.highest_leader_epoch(), logs.highest_producer_id()
    # Each start of the broker raised the epochs of all that it leads: the highest is near what each of them had.
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
