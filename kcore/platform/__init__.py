"""What the broker asks of the machine: disk operations, clocks, locks and atomics, all usable without the GIL."""
