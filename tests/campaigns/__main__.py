"""`bin/campaign NAME [--for MINUTES]`: runs a campaign's next seeds, keeps the result in tests/campaigns/NAME.jsonl."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.campaigns.ledger import Ledger
from tests.campaigns.runner import Campaign, run_campaign, run_seed

HERE = Path(__file__).resolve().parent
MACHINERY = {"__init__", "__main__", "ledger", "properties", "recorded_tests", "runner"}


def campaign_names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in MACHINERY)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bin/campaign", description="Runs a campaign's next seeds, and keeps the result."
    )
    parser.add_argument("name", nargs="?", help=f"one of: {', '.join(campaign_names())}; none: the status of all")
    parser.add_argument(
        "--for", dest="minutes", type=float, default=1.0, metavar="MINUTES", help="how long (default 1)"
    )
    parser.add_argument("--count", type=int, help="how many seeds at most")
    parser.add_argument("--seed", type=int, help="run this one seed again and keep nothing")
    parser.add_argument("--status", action="store_true", help="say what was run since the tested packages last changed")
    given = parser.parse_args()
    if given.name is not None and given.name not in campaign_names():
        parser.error(f"no campaign {given.name!r}; there are: {', '.join(campaign_names())}")
    return given


def print_status(name: str) -> None:
    campaign = Campaign.load(name)
    total = Ledger(HERE / f"{name}.jsonl").total_since_change(campaign.packages)
    changed = ", ".join(campaign.packages)
    print(f"{name}: {total.count} cases of {total.seeds} seeds, {total.violations} violations since {changed} changed")


def main() -> int:
    given = arguments()
    if given.name is None or given.status:
        for name in [given.name] if given.name else campaign_names():
            print_status(name)
        return 0
    campaign = Campaign.load(given.name)
    if given.seed is not None:
        return run_seed(campaign, given.seed)
    clean = run_campaign(campaign, Ledger(HERE / f"{given.name}.jsonl"), given.minutes * 60, given.count)
    print_status(given.name)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
