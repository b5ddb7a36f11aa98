"""A tool of Kafka: its options as a table, and how it ends.

The table parses the command line and translates it for kcli. kcli's own command runs and prints in the format
`-o kafka`. Errors have the tool's words and its output stream. Every failure has exit code 1 (0 for groups), where kcli
distinguishes more.
"""

from __future__ import annotations

import sys
import textwrap
from types import MappingProxyType
from typing import NamedTuple

from kcli.failures import INTERRUPTED, Failure, translate
from kcli.kafka_tools.option_parser import Option, ParsedWords, WrongCommandLine, parse_words
from kcli.output import KAFKA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    # Prints the causes of a failure; the second argument is the command line.
    Fail = Callable[[Sequence[str | Exception], Sequence[str]], None]

FAILED = 1
# The release of Apache Kafka whose options are supported.
KAFKA_RELEASE = "4.3.1"
HELP_WIDTH = 80
HELP_MARGIN = 40

HELP = Option("help", help="Print usage information.")
VERSION = Option("version", help="Display Kafka version.")
BOOTSTRAP_SERVER = Option(
    "bootstrap-server", "String: server to connect to", help="REQUIRED: The server to connect to."
)
COMMAND_CONFIG = Option("command-config", "String: property file", help="Properties to be passed to the admin client.")


class Tool(NamedTuple):
    """`command` is kcli's command; `actions` maps options to its subcommands.

    `check` enforces rules beyond the table. It raises WrongCommandLine, which prints the help, or a Failure, which ends
    like a failure of the command. `fail` prints each cause of a failure in the tool's words. `failed_code` is the exit
    code after a failure. `extra` returns additional arguments for kcli. `alone` is printed for an empty command line;
    by default `purpose` is.
    """

    name: str
    purpose: str
    command: tuple[str, ...]
    options: tuple[Option, ...]
    fail: Fail
    actions: Mapping[str, str] = MappingProxyType({})
    check: Callable[[ParsedWords], None] = lambda parsed: None
    extra: Callable[[ParsedWords], list[str]] = lambda parsed: []
    has_output_form: bool = True
    failed_code: int = FAILED
    alone: str = ""


def run_tool(tool: Tool, words: list[str]) -> int:
    """Runs a tool and returns its exit code."""
    if not words:
        return _explain(tool, tool.alone or tool.purpose)
    if words == ["--version"]:
        return _print_version()
    try:
        parsed = parse_words(words, (*tool.options, HELP, VERSION))
        if parsed.has("help"):
            return _explain(tool, tool.purpose)
        if parsed.has("version"):
            return _print_version()
        tool.check(parsed)
    except WrongCommandLine as wrong:
        return _explain(tool, str(wrong))
    except Failure as failure:
        tool.fail(failure.causes, words)
        return FAILED
    return carry_out(tool.fail, words, translated(tool, parsed), tool.failed_code)


def translated(tool: Tool, parsed: ParsedWords) -> list[str]:
    """The command line for kcli."""
    arguments = [*tool.command]
    arguments += [tool.actions[option.name] for option, _ in parsed.options if option.name in tool.actions]
    for option, value in parsed.options:
        if option.translated and option.name not in tool.actions:
            arguments += [option.translated] if value is None else [option.translated, value]
    return [*arguments, *tool.extra(parsed), *(("-o", KAFKA) if tool.has_output_form else ()), *parsed.others]


def carry_out(fail: Fail, words: Sequence[str], arguments: Sequence[str], failed_code: int = FAILED) -> int:
    """Runs kcli's command and returns the exit code of Kafka's tool."""
    from kcli.cli import execute

    try:
        return FAILED if execute(arguments) else 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        failure = translate(error)
        if failure is None:
            raise
        sys.stdout.flush()
        fail(failure.causes, words)
        return failed_code


def words_of(cause: str | Exception) -> str:
    """A failure in Kafka's words: the broker's own message, without kcli's additions."""
    from kcore.client.errors import broker_message

    if isinstance(cause, Failure):
        return cause.as_kafka or str(cause)
    return cause if isinstance(cause, str) else broker_message(cause)


def only_one_action(parsed: ParsedWords, actions: Iterable[str], listing: str) -> str:
    """The one action of a command line. `listing` names the actions as the tool's error message does."""
    given = [name for name in actions if parsed.has(name)]
    if len(given) != 1:
        raise WrongCommandLine(f"Command must include exactly one action: {listing}")
    return given[0]


def require(parsed: ParsedWords, *names: str) -> None:
    """Checks for required options, with the message of joptsimple."""
    for name in names:
        if not parsed.has(name):
            raise WrongCommandLine(f'Missing required argument "[{name}]"')


def _print_version() -> int:
    from kcore import __version__

    print(f"{KAFKA_RELEASE} (kcli:{__version__})")
    return 0


def _explain(tool: Tool, message: str) -> int:
    """Prints a message, and the options in the two columns of joptsimple."""
    print(message, file=sys.stderr)
    rows = [("Option", "Description"), ("------", "-----------")]
    rows += [(_named(option), option.help) for option in sorted((*tool.options, HELP, VERSION))]
    for name, text in rows:
        left = textwrap.wrap(name, HELP_MARGIN - 1, subsequent_indent="  ")
        right = textwrap.wrap(text, HELP_WIDTH - HELP_MARGIN, subsequent_indent="  ")
        for index in range(max(len(left), len(right))):
            first = left[index] if index < len(left) else ""
            second = right[index] if index < len(right) else ""
            print(f"{first:{HELP_MARGIN}}{second}".rstrip(), file=sys.stderr)
    return FAILED


def _named(option: Option) -> str:
    value = f" [{option.value[1:-1]}]" if option.value.startswith("[") else f" <{option.value}>" if option.value else ""
    return f"--{option.name}{value}"
