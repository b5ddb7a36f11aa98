"""Campaigns: suites that run for minutes or hours over numbered seeds. A campaign is `tests/campaigns/<name>.py` with

PACKAGES: tuple[str, ...]       what it tests: paths in the checkout; a change to one starts the count anew
def run(seed) -> int | None     the same for the same seed; raises when an invariant is broken. One case, or as many
                                as it returns
build() -> str                  optional: how what is tested was built, for the ledger
figures() -> dict               optional: what was measured since it was asked last, for the ledger
"""
