"""Interfaces to the machine: disk operations, clocks, locks and atomics, all usable without the GIL."""
