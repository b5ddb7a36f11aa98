"""A reset plan as a file of kafka-consumer-groups: comma-separated values without a heading.

    topic,partition,offset            for one group
    group,topic,partition,offset      for any number of groups

`--export` writes the file, and `--from-file` reads it.
"""

from __future__ import annotations

import csv
import io

import click

from kcli.failures import UsageFailure
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcli.output import Row

    Plan = dict[str, dict[TopicPartition, int]]

MAX_OFFSET = 2**63 - 1
MAX_PARTITION = 2**31 - 1


def read_plan(path: str, groups: list[str] | None) -> Plan:
    """The offsets by group. Raises UsageFailure for an invalid line. `-` is standard input."""
    plan: Plan = {}
    with click.open_file(path, encoding="utf-8") as file:
        try:
            lines = [(number, line) for number, line in enumerate(csv.reader(file), 1) if line]
        except (csv.Error, UnicodeDecodeError) as error:
            raise UsageFailure(f"{path}: not comma-separated values ({error})") from None
    for number, line in lines:
        if len(line) == 3 and groups is not None and len(groups) == 1:
            line = [groups[0], *line]
        if len(line) != 4:
            raise UsageFailure(
                f"{path}, line {number}: must be group,topic,partition,offset, or topic,partition,offset for one group"
            )
        group, topic, partition, offset = line
        place = TopicPartition(topic, _number(path, number, partition, MAX_PARTITION))
        if place in plan.setdefault(group, {}):
            raise UsageFailure(f"{path}, line {number}: partition {place}: given twice; remove one")
        plan[group][place] = _number(path, number, offset, MAX_OFFSET)
    return plan


def _number(path: str, line: int, text: str, limit: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= limit:
        raise UsageFailure(f"{path}, line {line}: {text!r}: must be a number from 0 to {limit}")
    return number


def write_plan(rows: Iterable[Row], one_group: bool) -> None:
    """Prints the rows of `groups reset-offsets` as such a file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    keys = ("topic", "partition", "new_offset") if one_group else ("group", "topic", "partition", "new_offset")
    writer.writerows([row[key] for key in keys] for row in rows)
    click.echo(text.getvalue(), nl=False)
