"""`kcli groups validate-regex`: checks a subscription pattern as a broker does (KIP-848)."""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.failures import Failure
from kcli.output import TABLE, output_option, write_rows


@click.command(
    "validate-regex",
    cls=Command,
    examples="""
    # Check a subscription pattern
    kcli groups validate-regex 'orders-[0-9]+'
    # Check it and print the result as JSON
    kcli groups validate-regex 'orders-[0-9]+' -o json
    """,
)
@click.argument("regex")
@output_option
def validate_regex(regex: str, output: str) -> None:
    """Check whether consumers can subscribe with a regular expression (RE2 syntax). Needs no broker."""
    from kcore.coordinator.group.consumer.topic_pattern import PatternError, TopicPattern

    try:
        TopicPattern(regex)
        error = None
    except PatternError as invalid:
        error = str(invalid)
    if output != TABLE:
        write_rows([{"regex": regex, "valid": error is None, "error": error}], output)
    elif error is None:
        click.echo(f"The regular expression `{regex}` is valid.")
    if error is not None:
        raise Failure(f"the regular expression `{regex}` is invalid: {error}")
