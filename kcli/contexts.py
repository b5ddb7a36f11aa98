"""Contexts: named clusters, each with bootstrap servers and client properties.

    $XDG_CONFIG_HOME/kcli/contexts.json     (default: ~/.config/kcli/contexts.json), mode 0600
    {"current": "prod", "contexts": {"prod": {"bootstrap.servers": "kafka:9092", "properties": {"client.id": "me"},
        "secrets": {"sasl.jaas.config": {"file": "/run/secrets/jaas"}, "ssl.key.password": {"env": "KEY_PASSWORD"},
                    "ssl.keystore.password": {"value": "..."}}}}}

A secret is stored as its source (a file or an environment variable), which is read at each use, or as its value. So a
file that other users can read is refused. Crash policy: a new file is written, synced and renamed, so that the file is
always complete.
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
    """One cluster. `secrets` is {property: {source: location}}."""

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
        """All properties, including secrets read from their sources."""
        read = {name: read_secret(self.name, name, source) for name, source in self.secrets.items()}
        return {**self.properties, **read}

    def shown(self) -> dict[str, str]:
        """All properties for display: secrets are masked, or shown as their source."""
        return {**self.properties, **{name: shown_secret(source) for name, source in self.secrets.items()}}


class Contexts:
    """All contexts, and the current one. Changes take effect with `save`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.current: str | None = None
        self.named: dict[str, Context] = {}

    @classmethod
    def load(cls, path: str | None = None) -> Contexts:
        """Reads the file; without a file there are no contexts."""
        contexts = cls(path or contexts_path())
        try:
            with open(contexts.path, encoding="utf-8") as file:
                mode = os.fstat(file.fileno()).st_mode
                text = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return contexts
        if mode & OTHERS:
            raise UsageFailure(
                f"{contexts.path}: other users can read this file, and it may contain passwords. "
                f"Run: chmod 600 {contexts.path}"
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
            raise UsageFailure(f"{self.path}: not a contexts file ({error!r}). Correct it or delete it") from None

    def named_or_failure(self, name: str) -> Context:
        """The context of this name, or a UsageFailure that lists the known ones."""
        if name not in self.named:
            known = ", ".join(sorted(self.named))
            raise UsageFailure(
                f"context {name} not found. Defined contexts: {known}"
                if known
                else f"context {name} not found: no contexts are defined. "
                f"Define it with: kcli context set {name} --bootstrap-server HOST:PORT"
            )
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
        # A symbolic link stays a link: only its target is replaced.
        path = os.path.realpath(self.path)
        directory = os.path.dirname(path)
        os.makedirs(directory, DIRECTORY_MODE, exist_ok=True)
        # mkstemp creates files with mode 0600.
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
    """The path of the file (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "kcli", "contexts.json")


def is_secret(name: str) -> bool:
    """Whether a property's value must not be shown. Unknown properties are judged by their name."""
    from kcore.client.config.security_keys import KEYS
    from kcore.config.definition import PASSWORD

    types = {key.name: key.type for key in KEYS}
    if name in types:
        return types[name] == PASSWORD
    return any(part in name.lower() for part in ("password", "secret", "passphrase", "credential"))


def read_secret(context: str, name: str, source: dict[str, str]) -> str:
    """The value of a secret, or a Failure that names its source."""
    if SECRET_VALUE in source:
        return source[SECRET_VALUE]
    if SECRET_VARIABLE in source:
        variable = source[SECRET_VARIABLE]
        if variable not in os.environ:
            raise Failure(
                f"context {context}: cannot read {name}: the environment variable {variable} is not set. Set it, or "
                f"change its source with: kcli context set {context} --secret-file {name}=FILE"
            )
        return os.environ[variable]
    try:
        with open(source.get(SECRET_FILE, ""), encoding="utf-8") as file:
            return file.read().rstrip("\r\n")
    except OSError as error:
        kind = DeniedFailure if isinstance(error, PermissionError) else Failure
        raise kind(f"context {context}: cannot read {name} from {source.get(SECRET_FILE)}: {error.strerror}") from None


def shown_secret(source: dict[str, str]) -> str:
    """The source of a secret, or a mask in place of its value."""
    if SECRET_VARIABLE in source:
        return f"from ${source[SECRET_VARIABLE]}"
    if SECRET_FILE in source:
        return f"from {source[SECRET_FILE]}"
    return MASK
