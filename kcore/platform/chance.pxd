"""Seeded random numbers for code without the GIL (splitmix64). The same seed gives the same faults on every machine."""

from libc.stdint cimport uint64_t


cdef inline uint64_t next_chance(uint64_t* state) noexcept nogil:
    """64 random bits. Advances `state`, which starts as the seed."""
    cdef uint64_t mixed
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    mixed = state[0]
    mixed = (mixed ^ (mixed >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    mixed = (mixed ^ (mixed >> 27)) * <uint64_t>0x94D049BB133111EB
    return mixed ^ (mixed >> 31)


cdef inline uint64_t chance_below(uint64_t* state, uint64_t bound) noexcept nogil:
    """A number from 0 to `bound` - 1; 0 for a bound of 0."""
    return next_chance(state) % bound if bound else 0
