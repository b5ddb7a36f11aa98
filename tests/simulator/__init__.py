"""Brokers on simulated machines: lives of random steps from a seed, with faults and crashes, and what must hold after.

A `Machine` is a disk in memory that can lose power and fail by plan, durable metadata, and the whole broker on it,
whose background work happens when the simulation says so, under the disk's own clock. A `Life` takes steps on it by a
seed, one request at a time: produce with every codec, idempotent producers, reads, commits of offsets, DeleteRecords,
changes of configuration, retention, clean stops; it crashes at a chosen change of the disk, comes back, and holds what
clients were told against the invariants (`tests/invariants`).

    python -m tests.simulator --mode group-commit --seed 17
"""
