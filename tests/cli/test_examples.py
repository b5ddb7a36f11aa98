"""Every command has examples, and their options are valid: each line is parsed by the command's own parser."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kcli.cli import execute, kcli
from kcli.command import Command

MAX_LINE = 110
SUBSTITUTION = re.compile(r"\$\((.*?)\)")
SHELL_OPERATORS = frozenset(("|", "&&", "<", ">"))


def commands(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    yield context.command_path, context.command
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None
            yield from commands(click.Context(command, info_name=name, parent=context))


COMMANDS = dict(commands(click.Context(kcli, info_name="kcli")))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The paths of commands that were parsed; none of them runs."""
    paths: list[str] = []
    monkeypatch.setattr(click.Command, "invoke", lambda self, context: paths.append(context.command_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flights.toml").touch()
    return paths


def command_lines(line: str) -> Iterator[list[str]]:
    """The arguments of each `kcli` in a shell command line."""
    for inner in SUBSTITUTION.findall(line):
        yield from command_lines(inner)
    lexer = shlex.shlex(SUBSTITUTION.sub("result", line), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, "|"]:
        if word not in SHELL_OPERATORS:
            words.append(word)
        else:
            if words and words[0] == "kcli":
                yield words[1:]
            words = []


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_examples_that_its_parser_accepts(path: str, parsed: list[str]) -> None:
    command = COMMANDS[path]
    assert isinstance(command, Command)
    examples = command.examples()
    assert (1 if isinstance(command, click.Group) else 2) <= len(examples) <= 3
    for comment, line in examples:
        assert comment[0].isupper()
        assert not comment.endswith(".")
        assert len(line) <= MAX_LINE
        parsed.clear()
        for arguments in command_lines(line):
            execute(arguments)
        assert any(name.startswith(path) for name in parsed), line


@pytest.mark.parametrize("path", COMMANDS)
def test_help_ends_with_the_examples_as_they_are(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute([*path.split()[1:], "--help"]) == 0
    command = COMMANDS[path]
    assert isinstance(command, Command)
    expected = "\n\n".join(f"  # {comment}\n  {line}" for comment, line in command.examples())
    assert capsys.readouterr().out.endswith(f"\nExamples:\n{expected}\n")
