"""The metadata store, damaged: a start serves exactly what was stored, or refuses by name with the remedy."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from kcore.controller.embedded_store import EmbeddedMetadataStore
from kcore.controller.local_store import StoredState
from kcore.controller.metadata_store import MetadataStoreDamagedError
from kcore.metadata.image import BROKER_RESOURCE, PartitionState, TopicImage
from kcore.metadata.quota_entity import CLIENT_ID, USER, QuotaEntity
from kcore.protocol import apis
from tests.raw_client import RawClient
from tests.server_command import ServerCommand

NAME = "__cluster_metadata.sqlite"
WAL = NAME + "-wal"
PAGE_BYTES = 4096
FLIPS_A_PAGE = 60
FLIPS_IN_THE_HEADER = 800  # all of them: 100 bytes
WAL_HEADER_BYTES, FRAME_BYTES = 32, 24 + PAGE_BYTES


def fill(store: EmbeddedMetadataStore) -> None:
    """Several pages of every table that has content."""
    epoch = store.claim_controller(1)
    chance = random.Random(5)
    for number in range(60):
        topic_id, name = chance.randbytes(16), f"topic-{number}"
        states = [PartitionState(name, index, (1,), (1,), 1) for index in range(1 + number % 5)]
        store.create_topic(
            epoch, TopicImage(name, topic_id, states), {"retention.ms": str(number)} if number % 2 else {}
        )
        if number % 10 == 9:
            store.delete_topic(epoch, topic_id)
        if number % 10 == 8:
            store.update_partition_states(epoch, [states[0].replace(leader_epoch=7, partition_epoch=1)])
    store.set_configs(epoch, BROKER_RESOURCE, "", {"log.retention.ms": "1000"})
    for number in range(20):
        entity = QuotaEntity({USER: f"user-{number}", CLIENT_ID: None})
        store.set_client_quotas(epoch, entity, {"producer_byte_rate": 1000.5 + number})
    store.set_features(epoch, {"group.version": 1})
    store.allocate_producer_ids(epoch)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, StoredState]:
    """A store that was closed, and what is in it."""
    path = tmp_path_factory.mktemp("sound") / NAME
    store = EmbeddedMetadataStore(str(path))
    store.open()
    fill(store)
    store.close()
    return path.read_bytes(), loaded(path)


def loaded(path: Path) -> StoredState:
    store = EmbeddedMetadataStore(str(path))
    store.open()
    try:
        assert store._state is not None
        return store._state
    finally:
        store.close()


def assert_same_or_refused(path: Path, expected: StoredState, what: str) -> bool:
    """Whether it is refused: with the file, and the option that helps."""
    refusal = ""
    try:
        found = loaded(path)
    except MetadataStoreDamagedError as error:
        refusal = str(error)
    if refusal:
        assert str(path) in refusal
        assert "--rebuild-metadata" in refusal
    else:
        assert found == expected, what
    return bool(refusal)


def flips(content: bytes) -> list[tuple[int, int]]:
    """(byte, bit): the whole header, and a sample of each page."""
    chance = random.Random(3)
    header = [(number // 8, number % 8) for number in range(FLIPS_IN_THE_HEADER)]
    pages = range(0, len(content), PAGE_BYTES)
    sample = [(page + chance.randrange(PAGE_BYTES), chance.randrange(8)) for page in pages for _ in range(FLIPS_A_PAGE)]
    used = [place for place, byte in enumerate(content) if byte and place >= 100]
    return header + sample + [(place, chance.randrange(8)) for place in chance.sample(used, 600)]


def test_every_flipped_bit_is_harmless_or_found(sound: tuple[bytes, StoredState], tmp_path: Path) -> None:
    content, expected = sound
    refused = 0
    places = flips(content)
    for place, bit in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        path = tmp_path / NAME
        path.write_bytes(bytes(damaged))
        refused += assert_same_or_refused(path, expected, f"bit {bit} of byte {place} was flipped")
        (tmp_path / WAL).unlink(missing_ok=True)
    assert refused > len(places) // 4


def test_pages_that_are_lost_or_older_are_found(sound: tuple[bytes, StoredState], tmp_path: Path) -> None:
    content, expected = sound
    path = tmp_path / NAME
    for page in range(0, len(content), PAGE_BYTES):
        for damaged in (
            content[:page] + bytes(PAGE_BYTES) + content[page + PAGE_BYTES :],
            content[: page + PAGE_BYTES // 2],
            content[:page] + content[page + PAGE_BYTES :],
        ):
            path.write_bytes(damaged)
            assert_same_or_refused(path, expected, f"page {page // PAGE_BYTES} was damaged")
    # The same file a few transactions later: each of its pages on its own goes back to the older state.
    path.write_bytes(content)
    store = EmbeddedMetadataStore(str(path))
    store.open()
    epoch = store.claim_controller(1)
    name = sorted(store.image.topics)[7]
    store.set_configs(epoch, BROKER_RESOURCE, "", {"log.retention.ms": "2000"})
    store.delete_topic(epoch, store.image.topics[name].topic_id)
    store.close()
    newer, newest = path.read_bytes(), loaded(path)
    rewound = 0
    for page in range(PAGE_BYTES, min(len(content), len(newer)), PAGE_BYTES):
        if newer[page : page + PAGE_BYTES] != content[page : page + PAGE_BYTES]:
            path.write_bytes(newer[:page] + content[page : page + PAGE_BYTES] + newer[page + PAGE_BYTES :])
            rewound += assert_same_or_refused(path, newest, f"page {page // PAGE_BYTES} was rewound")
    assert rewound >= 3


def test_a_damaged_write_ahead_log_drops_no_transaction_silently(tmp_path: Path) -> None:
    """Of a broker that was killed. The last transaction alone cannot be told from one that was never committed."""
    path = tmp_path / NAME
    store = EmbeddedMetadataStore(str(path))
    store.open()
    fill(store)
    before_last = store._state
    store.set_configs(0 + store._state.controller_epoch, BROKER_RESOURCE, "", {"log.retention.ms": "3"})  # type: ignore[union-attr]
    expected = store._state
    main, log = path.read_bytes(), (tmp_path / WAL).read_bytes()
    store.close()
    assert before_last is not None
    assert expected is not None
    frames = range(WAL_HEADER_BYTES, len(log) - FRAME_BYTES + 1, FRAME_BYTES)
    commits = [frame for frame in frames if int.from_bytes(log[frame + 4 : frame + 8], "big")]
    chance = random.Random(9)
    other = tmp_path / "copy"
    refused = 0
    for _ in range(150):
        damaged = bytearray(log)
        place = chance.randrange(commits[-2] + FRAME_BYTES)
        damaged[place] ^= 1 << chance.randrange(8)
        other.mkdir()
        (other / NAME).write_bytes(main)
        (other / WAL).write_bytes(bytes(damaged))
        refused += assert_same_or_refused(other / NAME, expected, f"byte {place} of the write-ahead log was changed")
        shutil.rmtree(other)
    assert refused > 100
    # What a crash in the last transaction leaves is no damage.
    other.mkdir()
    (other / NAME).write_bytes(main)
    (other / WAL).write_bytes(log[: commits[-2] + FRAME_BYTES] + bytes(FRAME_BYTES))
    assert loaded(other / NAME).image.configs == before_last.image.configs


def test_a_store_of_the_first_format_gets_checksums(sound: tuple[bytes, StoredState], tmp_path: Path) -> None:
    content, expected = sound
    path = tmp_path / NAME
    path.write_bytes(content)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE checksum")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    assert loaded(path) == expected
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE topic SET name = 'topic-x' WHERE name = 'topic-1'")
    connection.close()
    with pytest.raises(MetadataStoreDamagedError, match="the checksum of topic does not match its content"):
        loaded(path)


def test_a_broker_refuses_a_store_in_which_a_topic_is_missing(tmp_path: Path) -> None:
    """Without the checksum it would set the logs of the topic aside."""
    data = tmp_path / "data"
    with ServerCommand(data) as broker:
        with RawClient(broker.port) as client:
            client.create_topic("orders")
            client.request(apis.METADATA, 9, {"topics": None})
        broker.process.terminate()
        assert broker.process.wait(60) == 0
    with sqlite3.connect(data / NAME) as connection:
        connection.execute("DELETE FROM partition")
        connection.execute("DELETE FROM topic")
    connection.close()
    with (
        pytest.raises(AssertionError, match=r"(?s)is damaged \(the checksum of .*--rebuild-metadata"),
        ServerCommand(data),
    ):
        pass
    assert (data / "orders-0").is_dir()
