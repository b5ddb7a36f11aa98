"""All steps, in order: later ones use what earlier ones made."""

from __future__ import annotations

from tests.interop.admin_scenario.steps import cluster, configs, groups, partitions, quotas, records, topics

STEPS = (
    *topics.STEPS,
    *partitions.STEPS,
    *records.STEPS,
    *configs.STEPS,
    *quotas.STEPS,
    *groups.STEPS,
    *cluster.STEPS,
)
