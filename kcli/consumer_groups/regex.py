"""`kcli groups validate-regex`: whether consumers may subscribe by a pattern, judged as a broker does it (KIP-848)."""

from __future__ import annotations

import click

from kcli.failures import Failure
from kcli.output import TABLE, output_option, write_rows


@click.command("validate-regex")
@click.argument("regex")
@output_option
def validate_regex(regex: str, output: str) -> None:
    """Say whether a regular expression is one that consumers can subscribe by: RE2's syntax, without a broker."""
    from kcore.coordinator.group.consumer.re2.parser import PatternError, parse

    try:
        parse(regex)
        error = None
    except PatternError as invalid:
        error = str(invalid)
    if output != TABLE:
        write_rows([{"regex": regex, "valid": error is None, "error": error}], output)
    elif error is None:
        click.echo(f"The regular expression `{regex}` is valid.")
    if error is not None:
        raise Failure(f"the regular expression `{regex}` is invalid: {error}")
