"""Memory that stays flat: 100,000 items of one kind are created and forgotten (tests/growth); a case is an item.

The seeds go through the kinds in turn. `KCLI_GROWTH_ITEMS` is another number of items. The figures of a ledger line are
what each item left behind, by kind.
"""

from __future__ import annotations

import os

from tests.growth.churns import KINDS
from tests.growth.soak import soak

PACKAGES = ("kcore", "tests/growth")
ITEMS = 100_000

FIGURES: dict[str, dict[str, float]] = {}


def run(seed: int) -> int:
    kind = list(KINDS)[seed % len(KINDS)]
    items = int(os.environ.get("KCLI_GROWTH_ITEMS", ITEMS))
    growth = soak(kind, items)
    FIGURES[kind] = {name: round(value, 3) for name, value in growth.measures.items()}
    print(kind, FIGURES[kind], flush=True)
    growth.check()
    return items


def figures() -> dict[str, object]:
    found, kept = dict(FIGURES), FIGURES
    kept.clear()
    return {"left by each item": found}
