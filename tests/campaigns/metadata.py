"""The metadata stores against their model, and against kill -9 alone and together with the logs they speak of."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import seed as with_seed
from hypothesis.stateful import get_state_machine_test

from tests.fault.test_topic_life_crash import test_topics_and_their_logs_survive_together
from tests.property.test_metadata_store_model import SIZE, EmbeddedAgainstModel, MemoryAgainstModel
from tests.unit.controller.test_embedded_store_crash import test_what_was_answered_survives

PACKAGES = ("kcore/controller", "kcore/metadata", "kcore/storage", "kcore/platform")
CRASHES = (test_what_was_answered_survives, test_topics_and_their_logs_survive_together)
MODELS = (EmbeddedAgainstModel, MemoryAgainstModel)


def run(seed: int) -> int:
    """Crashes and models in turn; a model runs SIZE's examples, a crash test counts as one."""
    chosen = seed % (len(CRASHES) + len(MODELS))
    if chosen < len(CRASHES):
        with tempfile.TemporaryDirectory() as directory:
            CRASHES[chosen](Path(directory), seed)
        return 1
    with_seed(seed)(get_state_machine_test(MODELS[chosen - len(CRASHES)], settings=SIZE))()
    return SIZE.max_examples
