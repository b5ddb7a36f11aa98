"""`python -m tests.stress.administration`: seeds of half a minute, one after another, until the time is over or a rule
is broken."""

from __future__ import annotations

import sys

from tests.stress.__main__ import run_seeds
from tests.stress.administration.run import race_administration

if __name__ == "__main__":
    sys.exit(run_seeds("tests.stress.administration", "Races of administration against a broker.", race_administration))
