"""Files that say whose data this is, damaged: each is made anew or refused by name, and no record is lost by it.

`meta.properties`, `partition.metadata`, and the metadata store; a store that is lost is rebuilt when the operator
wants that, and the broker says what it could not recover.
"""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from kcore.testing.errors import BrokerNotStarted
from tests.broker_process import BrokerProcess
from tests.fault.specimen import (
    COMMITTED,
    PARTITIONS,
    PROPERTIES,
    TIMEOUT_S,
    TOPIC,
    Reader,
    Specimen,
    flip,
    make_specimen,
    rewrite,
    write,
)
from tests.server_command import ServerCommand

STORE = "__cluster_metadata.sqlite"
OVERRIDES = [word for name, value in PROPERTIES.items() for word in ("--override", f"{name}={value}")]


@pytest.fixture(scope="module")
def specimen(tmp_path_factory: pytest.TempPathFactory) -> Specimen:
    return make_specimen(tmp_path_factory.mktemp("identity") / "data", clean=False)


@pytest.fixture
def data(specimen: Specimen, tmp_path: Path) -> Path:
    return specimen.copy(tmp_path / "data")


def files_of(data: Path) -> dict[str, bytes]:
    """Every partition's segments."""
    return {str(path.relative_to(data)): path.read_bytes() for path in sorted(data.rglob("*.log"))}


def assert_refused(data: Path, *words: str) -> None:
    """The broker does not start, names what is wrong, and leaves every directory as it was."""
    before = files_of(data)
    directories = sorted(path.name for path in data.iterdir() if path.is_dir())
    with pytest.raises(BrokerNotStarted) as refused, BrokerProcess(data, PROPERTIES):
        pass
    for word in words:
        assert word in str(refused.value)
    assert files_of(data) == before
    assert sorted(path.name for path in data.iterdir() if path.is_dir()) == directories


def check_records(broker: BrokerProcess, specimen: Specimen) -> None:
    with Reader(broker) as reader:
        for partition in range(PARTITIONS):
            assert reader.read(partition) == specimen.readable(partition)
        assert reader.committed(1) == COMMITTED


# meta.properties


def test_a_lost_meta_properties_is_written_anew(specimen: Specimen, data: Path) -> None:
    path = data / "meta.properties"
    before = {line for line in path.read_text().splitlines() if not line.startswith(("#", "directory.id"))}
    path.unlink()
    with BrokerProcess(data, PROPERTIES) as broker:
        check_records(broker, specimen)
        assert f"{data} had no meta.properties. It is created" in broker.log()
    assert before <= set(path.read_text().splitlines())


def test_a_lost_meta_properties_costs_no_broker_its_id(tmp_path: Path) -> None:
    """The id stood in the configuration once, then only there; the metadata still knows whose the partitions are."""
    with BrokerProcess(tmp_path / "data", {**PROPERTIES, "broker.id": "7"}) as broker:
        broker.create_topic(TOPIC)
        broker.stop()
    (tmp_path / "data" / "meta.properties").unlink()
    with BrokerProcess(tmp_path / "data", PROPERTIES) as broker:
        assert broker.broker_id == 7
        assert "-stray" not in broker.log()


@pytest.mark.parametrize("content", [b"", bytes(120), b"#\n"])
def test_an_empty_meta_properties_is_refused(data: Path, content: bytes) -> None:
    rewrite(data / "meta.properties", content)
    assert_refused(data, "meta.properties", "delete it: the broker re-creates it from the metadata store")


@pytest.mark.parametrize("bit", [0, 1, 2])
def test_an_identity_with_a_flipped_bit_is_refused_or_harmless(specimen: Specimen, data: Path, bit: int) -> None:
    """A broker that took another id for its own would set every log aside."""
    path = data / "meta.properties"
    content = path.read_bytes()
    ends = {line.partition(b"=")[0]: content.index(line) + len(line) for line in content.splitlines() if b"=" in line}
    for key in (b"cluster.id", b"node.id"):
        rewrite(path, content)
        flip(path, ends[key] - 1, 1 << bit)
        assert_refused(data, "meta.properties")
    rewrite(path, content)
    flip(path, ends[b"version"] - 1, 1 << bit)
    if bit:
        assert_refused(data, "meta.properties", "is unknown, only 0 and 1 are known")
    else:
        with BrokerProcess(data, PROPERTIES) as broker:
            check_records(broker, specimen)


# partition.metadata


@pytest.mark.parametrize("content", [None, b"", bytes(43)])
def test_a_partition_metadata_without_content_is_written_anew(
    specimen: Specimen, data: Path, content: bytes | None
) -> None:
    path = data / f"{TOPIC}-0" / "partition.metadata"
    before = path.read_bytes()
    path.unlink() if content is None else rewrite(path, content)
    with BrokerProcess(data, PROPERTIES) as broker:
        check_records(broker, specimen)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"garbage", b"version: 0\ntopic_id: ?", b"version: 9\ntopic_id: 0Qftv9yBTAmf2iDPSlIk7g"]
)
def test_a_damaged_partition_metadata_is_refused(data: Path, content: bytes) -> None:
    path = data / f"{TOPIC}-0" / "partition.metadata"
    rewrite(path, content)
    assert_refused(data, str(path), "restore the file with the topic's id")


def give_another_id(path: Path) -> None:
    content = path.read_bytes()
    rewrite(path, content[:-5] + (b"A" if content[-5:-4] != b"A" else b"B") + content[-4:])


def test_a_directory_of_another_topic_id_is_set_aside_and_named(specimen: Specimen, data: Path) -> None:
    path = data / f"{TOPIC}-0" / "partition.metadata"
    give_another_id(path)
    segments = [content for name, content in files_of(data).items() if name.startswith(f"{TOPIC}-0/")]
    with BrokerProcess(data, PROPERTIES) as broker, Reader(broker) as reader:
        assert reader.read(1) == specimen.readable(1)
        assert f"{data}/{TOPIC}-0 was set aside as {TOPIC}-0." in broker.log()
    (stray,) = data.glob(f"{TOPIC}-0.*-stray")
    assert [stray_segment.read_bytes() for stray_segment in sorted(stray.glob("*.log"))] == segments


# The metadata store


def lose(data: Path) -> None:
    for path in data.glob(f"{STORE}*"):
        path.unlink()


def make_empty(data: Path) -> None:
    lose(data)
    (data / STORE).write_bytes(b"")


def fill_with_zeros(data: Path) -> None:
    content = bytes((data / STORE).stat().st_size)
    lose(data)
    (data / STORE).write_bytes(content)


def fill_with_garbage(data: Path) -> None:
    lose(data)
    (data / STORE).write_bytes(b"this was a database once. " * 1_000)


def damage_pages(data: Path) -> None:
    # What the last life wrote may still lie in the write-ahead log.
    with BrokerProcess(data, PROPERTIES) as broker:
        broker.stop()
    content = bytearray((data / STORE).read_bytes())
    content[4096:] = random.Random(1).randbytes(len(content) - 4096)
    (data / STORE).write_bytes(bytes(content))


LOSSES = (lose, make_empty)
DAMAGES = (fill_with_zeros, fill_with_garbage, damage_pages)


@pytest.mark.parametrize("harm", LOSSES)
def test_a_lost_metadata_store_is_refused_by_name(data: Path, harm: Callable[[Path], None]) -> None:
    harm(data)
    for _ in range(2):
        assert_refused(data, STORE, "is lost", TOPIC, "--rebuild-metadata")


@pytest.mark.parametrize("harm", DAMAGES)
def test_a_damaged_metadata_store_is_refused_by_name(data: Path, harm: Callable[[Path], None]) -> None:
    harm(data)
    content = (data / STORE).read_bytes()
    assert_refused(data, STORE, "is damaged", "--rebuild-metadata")
    assert (data / STORE).read_bytes() == content


@pytest.mark.parametrize("harm", [*LOSSES, *DAMAGES])
def test_a_rebuild_recovers_topics_with_ids_and_partitions(
    specimen: Specimen, data: Path, harm: Callable[[Path], None], tmp_path: Path
) -> None:
    topic_ids = {path.parent.name: path.read_bytes() for path in data.glob("*/partition.metadata")}
    harm(data)
    with ServerCommand(data, arguments=("--rebuild-metadata", *OVERRIDES)) as server:
        broker: BrokerProcess = server  # type: ignore[assignment]
        check_records(broker, specimen)
        records = {partition: dict(known) for partition, known in specimen.records.items()}
        # Offsets go on, and no producer is given the id of another, whose sequences would make it a duplicate.
        write(broker, records, 10)
        assert all(len(known) == len(specimen.records[partition]) + 10 for partition, known in records.items())
        admin = AdminClient({"bootstrap.servers": server.bootstrap_server})
        topics = admin.list_topics(timeout=TIMEOUT_S).topics
        assert {name: len(topic.partitions) for name, topic in topics.items()} == {
            TOPIC: PARTITIONS,
            "__consumer_offsets": 1,
        }
        configs = described(admin, TOPIC) | {"offsets": described(admin, "__consumer_offsets")["cleanup.policy"]}
        assert (configs["retention.ms"], configs["retention.bytes"], configs["offsets"]) == ("-1", "-1", "compact")
        log = server.log()
    assert f"Rebuilt the metadata of 2 topics with {PARTITIONS + 1} partitions" in log
    assert "Not recovered" in log
    assert "client quotas" in log
    assert {path.parent.name: path.read_bytes() for path in data.glob("*/partition.metadata")} == topic_ids
    assert bool(list(data.glob(f"{STORE}.corrupt"))) == (harm in DAMAGES)
    # From now on it is there, and the option has no work.
    with ServerCommand(data, arguments=("--rebuild-metadata", *OVERRIDES)) as server:
        assert server.log().count("Rebuilt the metadata") == 1


def described(admin: AdminClient, topic: str) -> dict[str, str]:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entries = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    return {name: entry.value for name, entry in entries.items()}


def test_leader_epochs_do_not_go_back(specimen: Specimen, data: Path) -> None:
    """Clients hold what has a lower leader epoch than they know for old news."""
    before = epochs(data)
    lose(data)
    with ServerCommand(data, arguments=("--rebuild-metadata", *OVERRIDES)) as server:
        write(server, {partition: dict(known) for partition, known in specimen.records.items()}, 1)  # type: ignore[arg-type]
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(TIMEOUT_S) == 0
    after = epochs(data)
    for name, known in before.items():
        assert after[name][: len(known)] == known
        assert len(after[name]) == len(known) + 1, "the rebuilt broker leads in an epoch of its own, a higher one"


def epochs(data: Path) -> dict[str, list[str]]:
    return {
        name: [line.split()[0] for line in (data / name / "leader-epoch-checkpoint").read_text().splitlines()[2:]]
        for name in (f"{TOPIC}-0", f"{TOPIC}-1")
    }


def test_what_the_directories_do_not_say_is_said(specimen: Specimen, data: Path, tmp_path: Path) -> None:
    lose(data)
    shutil.copytree(data / f"{TOPIC}-1", data / f"{TOPIC}-3")
    (data / f"{TOPIC}-3" / "partition.metadata").unlink()
    (data / "backup-2024").mkdir()
    shutil.copytree(data / f"{TOPIC}-1", data / "unnamed-0")
    (data / "unnamed-0" / "partition.metadata").unlink()
    with ServerCommand(data, arguments=("--rebuild-metadata", *OVERRIDES)) as server:
        log = server.log()
        topics = AdminClient({"bootstrap.servers": server.bootstrap_server}).list_topics(timeout=TIMEOUT_S).topics
    assert {name: len(topic.partitions) for name, topic in topics.items()} == {
        TOPIC: 4,
        "unnamed": 1,
        "__consumer_offsets": 1,
    }
    assert f"Partitions 2 of topic {TOPIC} have no directory. They start empty" in log
    assert f"because they have no partition.metadata: {data}/{TOPIC}-3" in log
    assert "Topic unnamed has the new id" in log
    assert (
        f"Ignored {data}/backup-2024: it is not the directory of a partition"
        not in log.partition("Rebuilt")[0].partition("Found")[0]
    )


@pytest.mark.parametrize("kind", ["two ids", "one id twice", "far apart"])
def test_directories_that_contradict_each_other_are_refused(data: Path, kind: str) -> None:
    lose(data)
    if kind == "two ids":
        give_another_id(data / f"{TOPIC}-0" / "partition.metadata")
        words = f"cannot rebuild topic {TOPIC}: "
    elif kind == "one id twice":
        shutil.copytree(data / f"{TOPIC}-0", data / "copy-0")
        words = "Move the copy away"
    else:
        shutil.copytree(data / f"{TOPIC}-1", data / f"{TOPIC}-999999999")
        words = f"{TOPIC}-999999999 it would have 1000000000 partitions"
    before = files_of(data)
    with pytest.raises(AssertionError) as refused, ServerCommand(data, arguments=("--rebuild-metadata", *OVERRIDES)):
        pass
    assert words in str(refused.value)
    assert files_of(data) == before
