"""Generates the man pages from the commands: `python -m kcli.man DIRECTORY`.

There is one page per command, `kcli-topics-create.1` for `kcli topics create`, and `kcli.1` for all commands. A page
has the content of --help. A test compares the committed pages with the commands.
"""

from __future__ import annotations

import inspect
import os
import sys

import click

from kcli.cli import kcli
from kcli.command import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SECTION = 1
EXIT_CODES = (
    ("0", "Success. Also the exit code of a server that Ctrl-C or SIGTERM has stopped."),
    ("1", "Failure, or partial failure."),
    ("2", "The command line, or a file that it names, is invalid."),
    ("3", "No broker answered, or none answered in time."),
    ("4", "Denied by the broker or the operating system."),
    ("130", "Interrupted."),
)
ENVIRONMENT = (
    ("KCLI_BOOTSTRAP_SERVER", "Default of --bootstrap-server."),
    ("KCLI_CONTEXT", "Default of --context."),
    (
        "KCLI_COMPLETION_TIMEOUT_MS",
        "Maximum time that shell completion waits for the cluster, in ms. Default: 1000.",
    ),
    ("KCLI_DATA_DIR", "Default data directory of brokers. Default: ~/.local/share/kcli."),
)


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    context = click.Context(kcli, info_name="kcli")
    return {f"{'-'.join(names)}.{SECTION}": _page(names, inner) for names, inner in _commands(["kcli"], context)}


def _commands(names: list[str], context: click.Context) -> Iterator[tuple[list[str], click.Context]]:
    yield names, context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None
            yield from _commands([*names, name], click.Context(command, info_name=name, parent=context))


def _page(names: list[str], context: click.Context) -> str:
    command = context.command
    title = "-".join(names)
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    summary = " ".join(paragraphs[0].split()).rstrip(".")
    lines = [
        f'.TH "{title.upper()}" "{SECTION}" "" "kcli" "kcli manual"',
        ".SH NAME",
        f"{_escape(title)} \\- {_escape(summary[0].lower() + summary[1:])}",
        ".SH SYNOPSIS",
        f".B {_escape(' '.join(names))}",
        _escape(_usage(command)),
        ".SH DESCRIPTION",
    ]
    for number, paragraph in enumerate(paragraphs):
        if number:
            lines.append(".PP")
        lines.append(_escape(" ".join(paragraph.split())))
    lines += _options(context)
    lines += _subcommands(names, context)
    lines += _definitions("ENVIRONMENT", ENVIRONMENT) if len(names) == 1 else []
    lines += _definitions("EXIT STATUS", EXIT_CODES) if not isinstance(command, click.Group) or len(names) == 1 else []
    lines += _examples(command)
    lines += _see_also(names)
    return "\n".join(lines) + "\n"


def _usage(command: click.Command) -> str:
    pieces = ["[OPTIONS]"]
    if isinstance(command, click.Group):
        pieces.append("COMMAND [ARGUMENTS]")
    pieces += [parameter.metavar or "" for parameter in command.params if isinstance(parameter, click.Argument)]
    return " ".join(piece for piece in pieces if piece)


def _options(context: click.Context) -> list[str]:
    options = [parameter for parameter in context.command.get_params(context) if isinstance(parameter, click.Option)]
    return _definitions("OPTIONS", [(_term(option), _meaning(option)) for option in options if not option.hidden])


def _term(option: click.Option) -> str:
    """Names and value. Not taken from Click, so that the pages do not depend on its version."""
    names = ", ".join(sorted(option.opts, key=len) if len(option.opts[0]) <= 2 else option.opts)
    if option.is_flag:
        return names
    return f"{names} {option.metavar or _value(option.type)}"


def _value(type: object) -> str:
    if isinstance(type, click.Choice):
        return "|".join(type.choices)
    return "TEXT" if isinstance(type, click.types.StringParamType) else "N"


def _meaning(option: click.Option) -> str:
    meaning = option.help or ""
    if option.show_default and isinstance(option.default, str | int | float):
        meaning += f" Default: {option.default}."
    if option.required:
        meaning += " Required."
    return meaning.strip()


def _subcommands(names: list[str], context: click.Context) -> list[str]:
    if not isinstance(context.command, click.Group):
        return []
    entries = []
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        assert command is not None
        entries.append((f"{'-'.join([*names, name])}({SECTION})", command.get_short_help_str(limit=200)))
    return _definitions("COMMANDS", entries)


def _definitions(heading: str, entries: tuple[tuple[str, str], ...] | list[tuple[str, str]]) -> list[str]:
    lines = [f".SH {heading}"] if entries else []
    for term, description in entries:
        lines += [".TP", f".B {_escape(term)}", _escape(" ".join(description.split()))]
    return lines


def _examples(command: click.Command) -> list[str]:
    assert isinstance(command, Command)
    lines = [".SH EXAMPLES"]
    for comment, line in command.examples():
        lines += [".PP", f"{_escape(comment)}:", ".PP", ".nf", f"    {_escape(line)}", ".fi"]
    return lines


def _see_also(names: list[str]) -> list[str]:
    if len(names) == 1:
        return []
    parents = [f".BR {_escape('-'.join(names[:length]))} ({SECTION})" for length in range(1, len(names))]
    return [".SH SEE ALSO", *parents]


def _escape(text: str) -> str:
    """Escapes backslashes, hyphens (which roff would print as dashes), and a control character at the start."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def main(arguments: list[str]) -> int:
    """Updates a directory: writes all pages, removes those of commands that no longer exist."""
    if len(arguments) != 1:
        print("usage: python -m kcli.man DIRECTORY", file=sys.stderr)
        return 2
    directory = arguments[0]
    wanted = pages()
    os.makedirs(directory, exist_ok=True)
    for name in os.listdir(directory):
        if name.startswith("kcli") and name.endswith(f".{SECTION}") and name not in wanted:
            os.unlink(os.path.join(directory, name))
    for name, text in wanted.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
