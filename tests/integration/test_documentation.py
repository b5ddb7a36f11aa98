"""The examples of docs/ run as they stand there, one after another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kcore.testing import EmbeddedBroker

EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["admin-client.md", "producer.md"])
def test_the_examples_of_a_page(checkout: Path, page: str) -> None:
    text = (checkout / "docs" / page).read_text()
    examples = list(EXAMPLE.finditer(text))
    assert examples
    with EmbeddedBroker() as broker:
        names: dict[str, object] = {"server": broker.bootstrap_servers}
        for example in examples:
            line = text.count("\n", 0, example.start(1))
            # The lines of a failure are those of the page.
            exec(compile("\n" * line + example[1], page, "exec"), names)
