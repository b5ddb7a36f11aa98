"""`kcli context`: which cluster a command talks to, what it tells it, and that no secret is shown or lies open."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kcli.cli import kcli as root_command
from kcli.commands.context import command as context_command
from kcli.options import other_cluster, other_cluster_options
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Result, run_kcli

NOBODY = "127.0.0.1:1"


class User:
    """Somebody with a directory of configurations of their own."""

    def __init__(self, home: Path) -> None:
        self.file = home / "kcli" / "contexts.json"
        self.environment = {"XDG_CONFIG_HOME": str(home)}

    def __call__(self, *arguments: str | Path, **environment: str) -> Result:
        return run_kcli(*arguments, env={**self.environment, **environment})

    def server_asked(self, *options: str, **environment: str) -> str:
        """The server that a command asks, where nobody answers at any."""
        result = self("topics", "list", *options, **environment)
        assert result.code == 3, result
        return result.stderr.split("cannot connect to ")[1].split(" ")[0]


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_a_command_talks_to_the_current_context(user: User, broker: BrokerProcess) -> None:
    assert user("context", "set", "here", "--bootstrap-server", broker.bootstrap_server) == (
        0,
        "Set context here.\n",
        "",
    )
    assert user("context", "use", "here").stdout == "Current context: here.\n"
    assert user("topics", "create", "of-a-context").stdout == "Created topic of-a-context.\n"
    assert "of-a-context:0:0\n" in user("get-offsets", "--topic", "of-a-context").stdout
    produced = run_kcli("console-producer", "--topic", "of-a-context", stdin="one\n", env=user.environment)
    assert produced.code == 0, produced
    read = user("console-consumer", "--topic", "of-a-context", "--from-beginning", "--max-messages", "1")
    assert read.stdout == "one\n"


def test_options_outdo_the_environment_and_that_the_current_context(user: User) -> None:
    for name in ("current", "named", "in-environment"):
        port = {"current": 1, "named": 2, "in-environment": 3}[name]
        user("context", "set", name, "--bootstrap-server", f"127.0.0.1:{port}")
    assert user.server_asked("--bootstrap-server", "127.0.0.1:9") == "127.0.0.1:9"
    user("context", "use", "current")
    named, by_environment = ("--context", "named"), {"KCLI_CONTEXT": "in-environment"}
    server = {"KCLI_BOOTSTRAP_SERVER": "127.0.0.1:8"}
    assert user.server_asked() == "127.0.0.1:1"
    assert user.server_asked(**by_environment) == "127.0.0.1:3"
    assert user.server_asked(**server) == "127.0.0.1:8"
    assert user.server_asked(**server, **by_environment) == "127.0.0.1:8"
    assert user.server_asked(*named, **server, **by_environment) == "127.0.0.1:2"
    assert user.server_asked(*named, "--bootstrap-server", "127.0.0.1:9") == "127.0.0.1:9"


def test_properties_count_with_the_contexts_own_servers_only(user: User) -> None:
    """A misspelt one is told of whenever it reaches a client."""
    user("context", "set", "own", "--bootstrap-server", NOBODY, "--property", "no.such.thing=1", "--use")
    complaint = "no.such.thing is ignored: it is not a configuration of the admin client"
    named = ("--context", "own")
    stated = ("--bootstrap-server", NOBODY)
    for options, environment, reaches in (
        ((), {}, True),
        (stated, {}, False),
        ((), {"KCLI_BOOTSTRAP_SERVER": NOBODY}, False),
        (stated, {"KCLI_CONTEXT": "own"}, False),
        ((*named, *stated), {}, True),
        (named, {"KCLI_BOOTSTRAP_SERVER": NOBODY}, True),
    ):
        stderr = user("topics", "list", *options, **environment).stderr
        assert (complaint in stderr) is reaches, (options, environment, stderr)


def test_a_file_of_properties_outdoes_the_context(user: User, tmp_path: Path, broker: BrokerProcess) -> None:
    user("context", "set", "nobody", "--bootstrap-server", NOBODY, "--use")
    file = tmp_path / "producer.properties"
    file.write_text(f"bootstrap.servers={broker.bootstrap_server}\n")
    arguments = ("console-producer", "--topic", "of-a-file", "--producer.config", file)
    assert run_kcli(*arguments, stdin="one\n", env=user.environment).code == 0


def test_contexts_are_listed_changed_and_removed(user: User) -> None:
    assert user("context", "list") == (0, "", "")
    user("context", "set", "b", "--bootstrap-server", "b:9092,c:9092", "--property", "client.id=me", "--use")
    user("context", "set", "a", "--bootstrap-server", "a:9092")
    user("context", "set", "b", "--property", "acks=1")
    assert user("context", "list").stdout == "  a  a:9092\n* b  b:9092,c:9092\n"
    assert user("context", "show").stdout == (
        "Context b (current)\n  bootstrap.servers=b:9092,c:9092\n  client.id=me\n  acks=1\n"
    )
    assert json.loads(user("context", "list", "-o", "json").stdout) == [
        {"context": "a", "current": False, "bootstrap_servers": "a:9092", "properties": {}},
        {
            "context": "b",
            "current": True,
            "bootstrap_servers": "b:9092,c:9092",
            "properties": {"client.id": "me", "acks": "1"},
        },
    ]
    assert user("context", "set", "b", "--unset", "client.id").code == 0
    assert "client.id" not in user("context", "show", "b").stdout
    assert user("context", "remove", "b").stdout == "Removed context b.\n"
    assert user("context", "show") == (
        2,
        "",
        "kcli context show: no context is given and none is current. Choose one with: kcli context use CONTEXT\n",
    )


@pytest.mark.parametrize(
    "arguments",
    [("context", "use", "gone"), ("context", "remove", "gone"), ("topics", "list", "--context", "gone")],
)
def test_a_context_that_is_not_there(user: User, arguments: tuple[str, ...]) -> None:
    user("context", "set", "here", "--bootstrap-server", NOBODY)
    assert user(*arguments) == (
        2,
        "",
        f"kcli {arguments[0]} {arguments[1]}: context gone not found. Defined contexts: here\n",
    )


def test_secrets_are_no_arguments(user: User) -> None:
    result = user("context", "set", "x", "--property", "sasl.jaas.config=hidden")
    assert (result.code, result.stdout) == (2, "")
    assert "passwords cannot be passed on the command line" in result.stderr
    assert not user.file.exists()


def test_secrets_are_read_anew_from_files_and_the_environment(user: User, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    options = ("--secret-file", f"client.id={secret}", "--secret-env", "ssl.key.password=KEY_PASSWORD")
    user("context", "set", "x", "--bootstrap-server", NOBODY, "--use", *options)
    assert user("context", "show").stdout.splitlines()[2:] == [
        f"  client.id=from {secret}",
        "  ssl.key.password=from $KEY_PASSWORD",
    ]
    missing = f"kcli topics list: context x: cannot read client.id from {secret}: No such file or directory\n"
    assert user("topics", "list", KEY_PASSWORD="k") == (1, "", missing)
    secret.write_text("me\n")
    assert user("topics", "list").stderr.startswith(
        "kcli topics list: context x: cannot read ssl.key.password: the environment variable "
        "KEY_PASSWORD is not set. Set it"
    )
    assert "cannot connect to" in user("topics", "list", KEY_PASSWORD="k").stderr


def test_what_is_typed_is_kept_in_a_file_of_the_users_own(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", user.environment["XDG_CONFIG_HOME"])
    previous = os.umask(0)
    try:
        asked = CliRunner().invoke(
            context_command, ["set", "x", "--secret", "ssl.key.password", "--use"], input="hidden\n"
        )
    finally:
        os.umask(previous)
    assert asked.exit_code == 0, asked.output
    assert "hidden" not in asked.output
    assert "hidden" in user.file.read_text()
    assert stat.S_IMODE(user.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(user.file.parent.stat().st_mode) == 0o700
    for options in ((), ("-o", "json")):
        shown = user("context", "show", *options).stdout
        assert "hidden" not in shown
        assert "********" in shown
    assert sorted(path.name for path in user.file.parent.iterdir()) == ["contexts.json"]


def test_a_file_that_others_can_read_is_refused(user: User) -> None:
    user("context", "set", "x", "--bootstrap-server", NOBODY)
    user.file.chmod(0o640)
    result = user("context", "list")
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr.endswith(f"chmod 600 {user.file}\n")
    # What needs no context does not mind.
    assert user.server_asked("--bootstrap-server", NOBODY) == NOBODY


@pytest.mark.parametrize("text", ["", "[]", '{"contexts": []}', '{"contexts": {"a": 1}}'])
def test_a_file_that_is_none(user: User, text: str) -> None:
    user.file.parent.mkdir()
    user.file.touch(0o600)
    user.file.write_text(text)
    result = user("context", "list")
    assert (result.code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"kcli context list: {user.file}: not a contexts file")


def test_a_file_keeps_its_cluster_unless_the_command_line_names_another(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    user("context", "set", "other", "--bootstrap-server", "other:1", "--property", "client.id=me", "--use")

    @click.command()
    @other_cluster_options("Another cluster.")
    def told(bootstrap_server: str | None) -> None:
        click.echo(json.dumps(other_cluster(bootstrap_server)))

    def chosen(*options: str) -> list[object]:
        found: list[object] = json.loads(CliRunner().invoke(told, options, catch_exceptions=False).stdout)
        return found

    monkeypatch.setenv("XDG_CONFIG_HOME", user.environment["XDG_CONFIG_HOME"])
    monkeypatch.setenv("KCLI_CONTEXT", "other")
    assert chosen() == [None, {}]
    assert chosen("--context", "other") == ["other:1", {"client.id": "me"}]
    assert chosen("--context", "other", "--bootstrap-server", "third:1") == ["third:1", {}]


def test_every_command_that_asks_a_cluster_takes_a_context() -> None:
    """Those that take --bootstrap-server, whichever they are."""

    def commands(command: click.Command) -> list[click.Command]:
        if not isinstance(command, click.Group):
            return [command]
        context = click.Context(command)
        inner = [command.get_command(context, name) for name in command.list_commands(context)]
        return [each for one in inner if one is not None for each in commands(one)]

    client_commands = 0
    for command in commands(root_command):
        names = {name for parameter in command.params for name in parameter.opts}
        if "--bootstrap-server" in names and command not in context_command.commands.values():
            client_commands += 1
            assert "--context" in names, command.name
    assert client_commands > 20
