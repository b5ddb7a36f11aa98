"""The broker that this project's tests run: `kcore.testing`'s, in a directory that the test can look into.

    with BrokerProcess(tmp_path / "data", {"num.partitions": "2"}) as broker:
        ... broker.bootstrap_server ...

Leaving the `with` block kills whatever still runs: a test that wants a good end asks for it with `stop`.
"""

from __future__ import annotations

import os
from pathlib import Path

from kcore.testing import EmbeddedBroker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Records of tests have fixed times, long past. A broker looks for what it need not keep half a minute after its start,
# and every five minutes from then on: these begin after a day, unless a test wants it otherwise.
KEEPING = {"log.initial.task.delay.ms": str(24 * 60 * 60 * 1000)}
# For every broker of a run, as `key=value` words: KCLI_TEST_OVERRIDES=kcli.fast.path.enable=false bin/test ...
OVERRIDES = dict(word.split("=", 1) for word in os.environ.get("KCLI_TEST_OVERRIDES", "").split())


class BrokerProcess(EmbeddedBroker):
    """`overrides` are broker configurations."""

    def __init__(self, data_dir: Path, overrides: Mapping[str, str] | None = None) -> None:
        super().__init__({**KEEPING, **OVERRIDES, **(overrides or {})}, data_dir=data_dir)

    @property
    def bootstrap_server(self) -> str:
        return self.bootstrap_servers

    def __exit__(self, *exception: object) -> None:
        if self.is_running:
            self.kill()
        self.close()
