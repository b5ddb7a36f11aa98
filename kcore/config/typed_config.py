"""TypedConfig: values of configurations by name, with the type that the caller expects."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.config.definition import ConfigValue


class TypedConfig:
    """Base of the configurations of brokers and clients, which define where a value comes from."""

    __slots__ = ()

    def __getitem__(self, name: str) -> ConfigValue:
        raise NotImplementedError

    def is_set(self, name: str) -> bool:
        """Whether the value is more than the default."""
        raise NotImplementedError

    def number(self, name: str) -> int:
        """The value of an integer key that is never null."""
        value = self[name]
        assert isinstance(value, int), name
        return value

    def flag(self, name: str) -> bool:
        """The value of a boolean key."""
        value = self[name]
        assert isinstance(value, bool), name
        return value

    def text(self, name: str) -> str | None:
        """The value of a string key."""
        value = self[name]
        assert value is None or isinstance(value, str), name
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """The value of a list key, or of a string key that Kafka splits at commas. Null is empty."""
        value = self[name]
        if isinstance(value, str):
            return tuple(item.strip() for item in value.split(",") if item.strip())
        assert value is None or isinstance(value, tuple), name
        return value or ()
