"""`meta.properties`: the cluster and the broker of a log directory (Kafka's `MetaProperties`), as Java properties.

    version 1, of KRaft and of the embedded store         version 0, of brokers on ZooKeeper
      version=1                                             version=0
      cluster.id=mvrzJFkYTLCpF0j0Wz4wWw                     cluster.id=mvrzJFkYTLCpF0j0Wz4wWw
      node.id=1                                             broker.id=1
      directory.id=8bCsVfjYQkiKYLTfAJvcaQ

Unknown keys are kept when the file is written again. Crash policy: the file is written atomically, and only if it is
missing. A damaged file prevents the start, because one cluster's records must not be served as another's.
"""

from __future__ import annotations

from kcore import uuid
from kcore.config.properties import parse_properties
from kcore.storage.checkpoints import CorruptFileError, number_in, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.platform.disk import Disk

FILE_NAME = "meta.properties"
LARGEST_NODE_ID = 2**31 - 1

_REMEDY = "correct the file, or move the log directory away"
_REMEDY_REMOVE = "restore it, or delete it: the broker re-creates it from the metadata store"
_SPECIAL = {
    **{character: f"\\{character}" for character in "\\ =:#!"},
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\f": "\\f",
}
_ID_KEYS = {0: "broker.id", 1: "node.id"}


class MetaProperties:
    """The content of one file. `others` are the unknown keys."""

    __slots__ = ("cluster_id", "directory_id", "node_id", "others", "version")

    def __init__(
        self,
        cluster_id: str | None,
        node_id: int | None,
        directory_id: bytes | None = None,
        version: int = 1,
        others: Mapping[str, str] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.node_id = node_id
        self.directory_id = directory_id
        self.version = version
        self.others = dict(others or {})

    def properties(self) -> dict[str, str]:
        """The keys and values of the file."""
        properties = {"version": str(self.version)}
        if self.cluster_id is not None:
            properties["cluster.id"] = self.cluster_id
        if self.node_id is not None:
            properties[_ID_KEYS[self.version]] = str(self.node_id)
        if self.directory_id is not None:
            properties["directory.id"] = uuid.to_text(self.directory_id)
        return {**properties, **self.others}


def write_meta_properties(disk: Disk, directory: str, meta: MetaProperties) -> None:
    """Replaces the file of a log directory."""
    lines = ["#", *(f"{_escaped(name)}={_escaped(value)}" for name, value in sorted(meta.properties().items()))]
    disk.write_file_atomically(f"{directory}/{FILE_NAME}", ("\n".join(lines) + "\n").encode())


def read_meta_properties(disk: Disk, directory: str) -> MetaProperties | None:
    """Reads the file of a log directory; None if it is missing. Raises CorruptFileError if it is invalid."""
    path = f"{directory}/{FILE_NAME}"
    try:
        content = disk.read_file(path)
    except FileNotFoundError:
        return None
    return parse_meta_properties(path, content)


def parse_meta_properties(path: str, content: bytes) -> MetaProperties:
    """Parses the content of the file. `path` is for messages."""
    text = content.decode("utf-8", "replace")
    try:
        others = parse_properties(text)
    except ValueError as error:
        raise CorruptFileError(path, 0, str(error), _REMEDY) from None
    version_text = others.pop("version", "0")
    if version_text not in ("0", "1"):
        rule = f"version {shown(version_text)} is unknown, only 0 and 1 are known"
        raise CorruptFileError(path, _line_of(text, "version"), rule, _REMEDY)
    version = int(version_text)
    node_id = _node_id(path, text, others, version)
    directory_id = _directory_id(path, text, others)
    cluster_id = others.pop("cluster.id", None)
    if cluster_id is None and node_id is None:
        raise CorruptFileError(path, 0, f"it has no cluster.id and no {_ID_KEYS[version]}", _REMEDY_REMOVE)
    if version == 1 and (cluster_id is None or node_id is None):
        missing = "cluster.id" if cluster_id is None else "node.id"
        raise CorruptFileError(path, 0, f"version 1 needs {missing}", _REMEDY)
    return MetaProperties(cluster_id, node_id, directory_id, version, others)


def _node_id(path: str, text: str, properties: dict[str, str], version: int) -> int | None:
    name = _ID_KEYS[version]
    value = properties.pop(name, None)
    if value is None:
        return None
    number = number_in(value, LARGEST_NODE_ID)
    if number is None:
        rule = f"{name} {shown(value)} is not a whole number from 0 to {LARGEST_NODE_ID}"
        raise CorruptFileError(path, _line_of(text, name), rule, _REMEDY)
    return number


def _directory_id(path: str, text: str, properties: dict[str, str]) -> bytes | None:
    value = properties.pop("directory.id", None)
    if value is None:
        return None
    try:
        return uuid.from_text(value)
    except ValueError as error:
        raise CorruptFileError(path, _line_of(text, "directory.id"), str(error), _REMEDY) from None


def _line_of(text: str, name: str) -> int:
    """The number of the last line that begins with a key: the last value of a key counts."""
    numbers = (number for number, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith(name))
    return max(numbers, default=0)


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)
