"""All steps, in order."""

from __future__ import annotations

from tests.interop.admin_scenario.steps import topics

STEPS = (*topics.STEPS,)
