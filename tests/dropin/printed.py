"""What a command left behind, and what of it two runs of the same command have in common.

Ids, hosts, ports, paths and times differ from run to run. So do classes and stack traces of Java, which say where in
a tool something happened, and the help that follows a complaint, which is in a tool's own words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

UNSTABLE = (
    # What this client does not know it does not list.
    (re.compile(r"^\t\w+\(\d+\): UNSUPPORTED,?\n", re.MULTILINE), ""),
    (re.compile(r"(\]),(?=\n\))"), r"\1"),
    (re.compile(r"\b127\.0\.0\.1[: ]+\d{4,5}\b"), "<host>:<port>"),
    (re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])"), "<uuid>"),
    (re.compile(r"(CreateTime: |crc: |console-consumer-)\d+"), r"\1<number>"),
    (re.compile(r"\"size\":\d+"), '"size":<bytes>'),
    (re.compile(r"(?<=\")/[^\" ]+(?=\")|(?<= )/[^ ]+/(?=[\w.-]+ )"), "<directory>"),
    (re.compile(r"(?<=Epoch: )\d+"), "<epoch>"),
    # Kafka's version, and behind it how it was built.
    (re.compile(r"^\d+\.\d+\.\d+( \(.*\))?$", re.MULTILINE), "<version>"),
    # Java 3.9 prints how it holds the name.
    (re.compile(r"Optional\[(.*?)\]"), r"\1"),
    (re.compile(r" / -6 or earliest-pending-upload"), ""),
)
NUMBER = re.compile(r"-?\d+(\.\d+)?(E-?\d+)?|NaN|-?Infinity")
HELP = re.compile(r"^Option +Description *$.*", re.MULTILINE | re.DOTALL)
USAGE = re.compile(r"^usage: .*?\n\n?(?=\S+: error)", re.MULTILINE | re.DOTALL)
STACK_TRACE = re.compile(r"\s+at |\s+\.\.\. |Caused by: ")
JAVA_CLASS = re.compile(r"^([\w.]+(Exception|Error): )+")
ADVERTISEMENT = "The consumer rebalance protocol (KIP-848) is production-ready!"


class Printed(NamedTuple):
    code: int
    stdout: str
    stderr: str

    def stable(self, *, in_any_order: bool = False, any_numbers: bool = False) -> Printed:
        """Comparable; in any order, only the words count and not where they stand."""
        out, complaint = without_ids(self.stdout), complaint_of(self.stderr)
        if any_numbers:
            out = NUMBER.sub("<number>", out)
        return Printed(self.code, words_of(out) if in_any_order else out.rstrip(), complaint)


def without_ids(text: str) -> str:
    for pattern, replacement in UNSTABLE:
        text = pattern.sub(replacement, text)
    return text


def words_of(text: str) -> str:
    return " ".join(sorted(re.findall(r"[^\s,{}\[\]]+", text)))


def complaint_of(text: str) -> str:
    """What stderr says, once, and without what only explains it."""
    lines: list[str] = []
    for line in USAGE.sub("", HELP.sub("", without_ids(text))).splitlines():
        plain = JAVA_CLASS.sub("", line).rstrip()
        if plain and not STACK_TRACE.match(line) and not line.startswith(ADVERTISEMENT) and plain not in lines:
            lines.append(plain)
    return "\n".join(lines)
