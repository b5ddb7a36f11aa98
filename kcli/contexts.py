"""Contexts: clusters by name, each with its bootstrap servers and the properties of clients.

    $XDG_CONFIG_HOME/kcli/contexts.json     (~/.config without it), mode 0600, replaced as a whole
    {"current": "prod", "contexts": {"prod": {"bootstrap.servers": "kafka:9092", "properties": {"client.id": "me"},
        "secrets": {"sasl.jaas.config": {"file": "/run/secrets/jaas"}, "ssl.key.password": {"env": "KEY_PASSWORD"},
                    "ssl.keystore.password": {"value": "..."}}}}}

A secret is kept as where it is read from each time, or as what was typed. A file that others may read is refused, since
what is in it may be what was typed. Crash policy: written beside, made durable and renamed, so that it is always the
old one or the new one.
"""

from __future__ import annotations

import os
import stat

from kcli.failures import DeniedFailure, Failure, UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE_MODE, DIRECTORY_MODE = 0o600, 0o700
OTHERS = stat.S_IRWXG | stat.S_IRWXO
SECRET_FILE, SECRET_VARIABLE, SECRET_VALUE = "file", "env", "value"
MASK = "********"


class Context:
    """One cluster; `secrets` are {property: {source: where}}."""

    __slots__ = ("bootstrap_servers", "name", "properties", "secrets")

    def __init__(
        self,
        name: str,
        bootstrap_servers: str | None = None,
        properties: dict[str, str] | None = None,
        secrets: dict[str, dict[str, str]] | None = None,
    ) -> None:
        self.name = name
        self.bootstrap_servers = bootstrap_servers
        self.properties = properties or {}
        self.secrets = secrets or {}

    def all_properties(self) -> dict[str, str]:
        """The properties, with secrets read from where they are."""
        read = {name: read_secret(self.name, name, source) for name, source in self.secrets.items()}
        return {**self.properties, **read}

    def shown(self) -> dict[str, str]:
        """The properties without any secret in them."""
        return {**self.properties, **{name: shown_secret(source) for name, source in self.secrets.items()}}


class Contexts:
    """All of them, and which is the current one; what is changed counts once it is saved."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.current: str | None = None
        self.named: dict[str, Context] = {}

    @classmethod
    def load(cls, path: str | None = None) -> Contexts:
        """What the file says; nothing where there is none."""
        contexts = cls(path or contexts_path())
        try:
            with open(contexts.path, encoding="utf-8") as file:
                mode = os.fstat(file.fileno()).st_mode
                text = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return contexts
        if mode & OTHERS:
            raise UsageFailure(
                f"{contexts.path}: others may read it, and there may be passwords in it; chmod 600 {contexts.path}"
            )
        contexts._take(text)
        return contexts

    def _take(self, text: str) -> None:
        import json

        try:
            content = json.loads(text)
            for name, row in content["contexts"].items():
                self.named[name] = Context(
                    name, row.get("bootstrap.servers"), dict(row.get("properties", {})), dict(row.get("secrets", {}))
                )
            self.current = content.get("current")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageFailure(f"{self.path}: no file of contexts ({error!r}); correct it, or remove it") from None

    def named_or_failure(self, name: str) -> Context:
        """The context of a name; a UsageFailure that says which there are."""
        if name not in self.named:
            known = ", ".join(sorted(self.named)) or "none"
            raise UsageFailure(f"context {name}: there is no such context; there are: {known}")
        return self.named[name]

    def save(self) -> None:
        """Replaces the file."""
        import json
        import tempfile

        content: dict[str, Any] = {"current": self.current, "contexts": {}}
        for name, context in sorted(self.named.items()):
            row: dict[str, Any] = {"properties": context.properties, "secrets": context.secrets}
            if context.bootstrap_servers is not None:
                row["bootstrap.servers"] = context.bootstrap_servers
            content["contexts"][name] = row
        # A link to a file of the user's other settings stays one.
        path = os.path.realpath(self.path)
        directory = os.path.dirname(path)
        os.makedirs(directory, DIRECTORY_MODE, exist_ok=True)
        # A new file of this module's is 0600 from the start.
        descriptor, beside = tempfile.mkstemp(dir=directory, prefix=os.path.basename(path))
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(content, file, indent=2)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, FILE_MODE)
            os.rename(beside, path)
        except BaseException:
            os.unlink(beside)
            raise


def contexts_path() -> str:
    """Where the file is (XDG base directory specification)."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "kcli", "contexts.json")


def is_secret(name: str) -> bool:
    """Whether a property of a client is one that nobody may see; also of one that no client here has."""
    from kcore.client.config.security_keys import KEYS
    from kcore.config.definition import PASSWORD

    types = {key.name: key.type for key in KEYS}
    if name in types:
        return types[name] == PASSWORD
    return any(part in name.lower() for part in ("password", "secret", "passphrase", "credential"))


def read_secret(context: str, name: str, source: dict[str, str]) -> str:
    """The value of a secret; a Failure names where it should have been."""
    if SECRET_VALUE in source:
        return source[SECRET_VALUE]
    if SECRET_VARIABLE in source:
        variable = source[SECRET_VARIABLE]
        if variable not in os.environ:
            raise Failure(f"context {context}, {name}: the environment has no {variable}")
        return os.environ[variable]
    try:
        with open(source.get(SECRET_FILE, ""), encoding="utf-8") as file:
            return file.read().rstrip("\r\n")
    except OSError as error:
        kind = DeniedFailure if isinstance(error, PermissionError) else Failure
        raise kind(f"context {context}, {name}: {source.get(SECRET_FILE)}: {error.strerror}") from None


def shown_secret(source: dict[str, str]) -> str:
    """Where a secret is read from, or that there is one."""
    if SECRET_VARIABLE in source:
        return f"from ${source[SECRET_VARIABLE]}"
    if SECRET_FILE in source:
        return f"from {source[SECRET_FILE]}"
    return MASK
