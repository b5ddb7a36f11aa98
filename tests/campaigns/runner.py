"""Runs a campaign's seeds one after another until the time is over, a violation stops it, or it is interrupted."""

from __future__ import annotations

import importlib
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tests.campaigns.ledger import Ledger

# What a ledger says is of any checkout.
ROOT = Path(__file__).resolve().parents[2]
# A line is written at least this often, so that a killed run loses no more.
LEDGER_INTERVAL_S = 300.0


class Stopped(BaseException):
    """SIGINT or SIGTERM: the seed in hand is dropped, what was run before is kept."""


@dataclass(frozen=True)
class Campaign:
    name: str
    packages: Sequence[str]
    run: Callable[[int], int | None]
    build: Callable[[], str] | None = None
    figures: Callable[[], dict[str, object]] | None = None

    @classmethod
    def load(cls, name: str) -> Campaign:
        module = importlib.import_module(f"tests.campaigns.{name}")
        optional = (getattr(module, name, None) for name in ("build", "figures"))
        return cls(name, module.PACKAGES, module.run, *optional)


def run_campaign(campaign: Campaign, ledger: Ledger, seconds: float, limit: int | None) -> bool:
    """Runs the next seeds for `seconds`, or `limit` of them; False when an invariant was broken."""
    deadline = time.monotonic() + seconds
    first = seed = ledger.next_seed()
    last = sys.maxsize if limit is None else first + limit
    started = time.monotonic()
    count = 0

    def keep(outcome: dict[str, object]) -> None:
        if campaign.build is not None:
            outcome = {**outcome, "build": campaign.build()}
        if campaign.figures is not None:
            outcome = {**outcome, "figures": campaign.figures()}
        ledger.append(campaign.packages, range(first, seed), count, time.monotonic() - started, outcome)

    with_signals = [signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        while seed < last and time.monotonic() < deadline:
            cases = campaign.run(seed)
            count += 1 if cases is None else cases
            seed += 1
            if time.monotonic() - started > LEDGER_INTERVAL_S:
                keep({"result": "ok"})
                first, started, count = seed, time.monotonic(), 0
    except Stopped:
        print(f"{campaign.name}: stopped before seed {seed}", file=sys.stderr)
    except Exception as violation:
        report(campaign, seed)
        failed = seed
        seed += 1
        count += 1
        error = f"{type(violation).__name__}: {violation}".replace(f"{ROOT}/", "")
        keep({"result": "violation", "seed": failed, "error": error[:500]})
        return False
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), with_signals, strict=True):
            signal.signal(number, handler)
    if seed > first:
        keep({"result": "ok"})
    return True


def run_seed(campaign: Campaign, seed: int) -> int:
    """One seed again, to look into it."""
    try:
        campaign.run(seed)
    except Exception:
        report(campaign, seed)
        return 1
    print(f"{campaign.name}: seed {seed} is clean")
    return 0


def report(campaign: Campaign, seed: int) -> None:
    traceback.print_exc()
    print(
        f"{campaign.name}: violation at seed {seed}; again: bin/campaign {campaign.name} --seed {seed}", file=sys.stderr
    )


def stop(number: int, frame: FrameType | None) -> None:
    raise Stopped
