"""Confirmation of destructive commands: they show their plan and ask, unless `--yes` is given."""

from __future__ import annotations

import sys

import click

from kcli.failures import Failure, UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def confirm(plan: Iterable[str], unless: str = "nothing was deleted") -> None:
    """Returns when the user agrees. The plan goes to stderr, so that a pipe gets only results.

    `unless` is the error when the user declines.
    """
    for line in plan:
        click.echo(line, err=True)
    if not sys.stdin.isatty():
        raise UsageFailure("not a terminal: pass --yes to confirm")
    if not click.confirm("Continue?", err=True):
        raise Failure(unless)
