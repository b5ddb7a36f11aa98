"""All steps, in order: later ones use what earlier ones made."""

from __future__ import annotations

from tests.interop.admin_scenario.steps import (
    cluster,
    configs,
    groups,
    internal_topics,
    partitions,
    quotas,
    records,
    topics,
    versions,
)

STEPS = (
    *topics.STEPS,
    *partitions.STEPS,
    *records.STEPS,
    *configs.STEPS,
    *quotas.STEPS,
    *groups.STEPS,
    *internal_topics.STEPS,
    *cluster.STEPS,
    *versions.STEPS,
)
