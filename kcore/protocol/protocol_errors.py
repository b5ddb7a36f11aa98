"""Errors of the codec. Each names the message, its version, the field and the reason."""

from __future__ import annotations

from kcore.errors import KafkaError


class MessageError(KafkaError):
    """A message that cannot be read or written. `field` is a path such as `topics[3].partitions[0].leader_epoch`."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.field = ""
        self.message_type = ""
        self.version: int | None = None

    def within(self, part: str) -> None:
        """Prepends a field or an array index to the path, while the error propagates."""
        separator = "." if self.field and not self.field.startswith("[") else ""
        self.field = part + separator + self.field

    def of(self, message_type: str, version: int) -> None:
        """Sets the message type and version. Called once, for the outermost structure."""
        self.message_type = message_type
        self.version = version

    def __str__(self) -> str:
        place = f"{self.message_type} version {self.version}: " if self.message_type else ""
        field = f"{self.field}: " if self.field else ""
        position = "" if self.position is None else f" (at byte {self.position})"
        return f"{place}{field}{self.reason}{position}"


class ProtocolError(MessageError, code=42):
    """Bytes that are not a message of this type and version. `position` is where reading failed."""


class EncodeError(MessageError, ValueError):
    """Values that cannot be written as a message of this type and version."""


class UnsupportedFieldError(EncodeError, code=35):
    """A field is set that the version does not have and that must not be dropped."""
