"""Producers and consumers through a network that drops, delays and cuts frames: a round a seed.

`figures` are of what was told to applications since the last line: how many records were acknowledged, how many futures
ended with which error, and how long after delivery.timeout.ms the latest of them did, in ms (below 0: before).
"""

from __future__ import annotations

import atexit
import faulthandler

from kcore.logger import ERROR, LOGGERS, get_logger
from tests.fault.bad_network.client_round import ClientRound
from tests.fault.bad_network.site import Site

PACKAGES = ("kcore/client",)
LOG = "kcore.client"
# A broker keeps something of every topic and group that it had.
ROUNDS_PER_SITE = 500
STUCK_S = 300

_site: Site | None = None
_rounds = 0
_acknowledged = 0
_failures: dict[str, int] = {}
_latest_ms = float("-inf")


def run(seed: int) -> int:
    global _rounds, _acknowledged, _latest_ms
    if _rounds % ROUNDS_PER_SITE == 0:
        end()
    faulthandler.dump_traceback_later(STUCK_S, exit=True)
    try:
        sending = ClientRound(site(), seed).run()
    except BaseException:
        end()
        raise
    finally:
        faulthandler.cancel_dump_traceback_later()
    _rounds += 1
    _acknowledged += sum(len(part.numbers) for part in sending.acknowledged)
    _latest_ms = max(_latest_ms, sending.latest_ms)
    for name, count in sending.failures.items():
        _failures[name] = _failures.get(name, 0) + count
    return 1


def site() -> Site:
    global _site
    if _site is None:
        get_logger(LOG)
        LOGGERS.set_level(LOG, ERROR)  # of every connection that ends we know
        _site = Site().__enter__()
    return _site


@atexit.register
def end() -> None:
    global _site, _rounds
    ended, _site, _rounds = _site, None, 0
    if ended is not None:
        ended.__exit__(None, None, None)


def figures() -> dict[str, object]:
    global _acknowledged, _latest_ms
    taken: dict[str, object] = {
        "acknowledged": _acknowledged,
        "failures": dict(sorted(_failures.items())),
        "latest_ms": round(max(_latest_ms, -1e9)),
    }
    _acknowledged, _latest_ms = 0, float("-inf")
    _failures.clear()
    return taken
