"""The connection of a producer or a consumer cut after every byte of every kind of frame: a cut a seed, repeatedly."""

from __future__ import annotations

import atexit

from kcore.logger import ERROR, LOGGERS, get_logger
from tests.fault.bad_network.cuts import Cuts

PACKAGES = ("kcore/client",)
LOG = "kcore.client"
CUTS_PER_SITE = 1_000

_cuts: Cuts | None = None
_run = 0


def run(seed: int) -> int:
    global _cuts, _run
    if _run % CUTS_PER_SITE == 0:
        end()
    if _cuts is None:
        get_logger(LOG)
        LOGGERS.set_level(LOG, ERROR)  # of every connection that ends we know
        _cuts = Cuts().__enter__()
    _run += 1
    _cuts.run(_cuts.all[seed % len(_cuts.all)])
    return 1


@atexit.register
def end() -> None:
    global _cuts, _run
    ended, _cuts, _run = _cuts, None, 0
    if ended is not None:
        ended.__exit__(None, None, None)


def figures() -> dict[str, object]:
    return {"cuts": 0 if _cuts is None else len(_cuts.all)}
