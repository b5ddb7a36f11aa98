"""Command lines are read as joptsimple reads them, and become kcli's; what they print is held against Kafka in
tests/dropin."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import pytest

from kcli.kafka_tools import MODULES
from kcli.kafka_tools.option_parser import Option, WrongCommandLine, parse_words
from kcli.kafka_tools.tool import Tool, translated

OPTIONS = (Option("topic", "String"), Option("list"), Option("state", "[String]"), Option("old", "String", "--new"))


@pytest.mark.parametrize(
    ("words", "options", "others"),
    [
        (["--topic", "a", "--list"], [("topic", "a"), ("list", None)], []),
        (["--topic=a=b"], [("topic", "a=b")], []),
        (["-topic", "a"], [("topic", "a")], []),
        (["--topic", "--list"], [("topic", "--list")], []),
        (["--topic", ""], [("topic", "")], []),
        (["--state", "stable"], [("state", "stable")], []),
        (["--state", "--list"], [("state", None), ("list", None)], []),
        (["--state"], [("state", None)], []),
        (["describe", "--list", "x"], [("list", None)], ["describe", "x"]),
        (["--list", "--", "--topic", "a"], [("list", None)], ["--topic", "a"]),
        (["-"], [], ["-"]),
    ],
)
def test_words_become_options(words: list[str], options: list[tuple[str, str | None]], others: list[str]) -> None:
    parsed = parse_words(words, OPTIONS)
    assert [(option.name, value) for option, value in parsed.options] == options
    assert parsed.others == others


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--colour"], "colour is not a recognized option"),
        (["--top", "a"], "top is not a recognized option"),
        (["--topic"], "Option topic requires an argument"),
    ],
)
def test_what_is_no_command_line(words: list[str], complaint: str) -> None:
    with pytest.raises(WrongCommandLine, match=complaint):
        parse_words(words, OPTIONS)


def tools() -> dict[str, Tool]:
    """Those that translate."""
    modules = {name: import_module(f"kcli.kafka_tools.{module}") for name, module in MODULES.items()}
    return {name: module.TOOLS[name] for name, module in modules.items() if hasattr(module, "TOOLS")}


@pytest.mark.parametrize("name", tools())
def test_every_option_is_one_of_the_command_that_it_goes_to(name: str) -> None:
    """What a table calls an option, kcli's command has, in some action at least."""
    import click

    from kcli.cli import kcli

    tool = tools()[name]
    command: click.Command = kcli
    for word in tool.command:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    if name == "kafka-configs":
        from kcli.commands.quotas import command as quotas

        inner = [*command.commands.values(), *quotas.commands.values()]  # type: ignore[attr-defined]
    else:
        inner = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    known = {spelling for one in inner for parameter in one.params for spelling in parameter.opts}
    for option in tool.options:
        if option.translated and option.name not in tool.actions:
            assert option.translated in known, option


def test_a_command_line_of_kcli_comes_of_it() -> None:
    tool = tools()["kafka-topics"]
    parsed = parse_words(["--bootstrap-server", "h:1", "--delete", "--topic", "t"], tool.options)
    assert translated(tool, parsed) == [
        *("topics", "delete", "--bootstrap-server", "h:1", "--topic", "t", "--yes", "-o", "kafka"),
    ]


def test_there_is_a_launcher_for_every_tool(checkout: Path) -> None:
    links = {path.name: os.readlink(path) for path in (checkout / "bin").glob("kafka-*.sh")}
    assert links == {f"{name}.sh": "kafka-tool" for name in MODULES}


@pytest.mark.parametrize(
    ("feature", "level", "name"),
    [
        ("group.version", 1, "1"),
        # As Apache Kafka 4.3.1 shows the levels that it supports.
        ("metadata.version", 7, "3.3-IV3"),
        ("metadata.version", 30, "4.3-IV0"),
        ("metadata.version", 31, "UNKNOWN [31]"),
    ],
)
def test_levels_are_shown_as_kafka_shows_them(feature: str, level: int, name: str) -> None:
    from kcli.commands.features import level_name

    assert level_name(feature, level) == name
