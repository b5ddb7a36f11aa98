"""What destroys something shows its plan and asks first; `--yes` says yes beforehand."""

from __future__ import annotations

import sys

import click

from kcli.failures import Failure, UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def confirm(command: str, plan: Iterable[str], unless: str = "nothing was deleted") -> None:
    """Returns when the user agrees; the plan goes to stderr, so that what is piped on is only what was done.

    `unless` is what the command ends with when they do not.
    """
    for line in plan:
        click.echo(line, err=True)
    if not sys.stdin.isatty():
        raise UsageFailure(f"{command}: nobody is there to be asked; add --yes")
    if not click.confirm("Go on?", err=True):
        raise Failure(unless)
