"""The dispatch table: which requests a processor may finish itself, and how their headers are laid out.

Filled before the server starts and not changed afterwards, so that processors read it without a lock; only what is handed
over to Python for a while, `hand_over`, changes while they run, by atomic stores.
"""

from libc.stdint cimport INT16_MAX, int16_t
from libc.string cimport memset
from kcore.platform.sync cimport atomic_load_32, atomic_store_32


cdef class DispatchTable:
    """One entry an API key. A fresh table hands everything to Python handlers and knows no flexible header."""

    def __cinit__(self):
        cdef int key
        memset(self.entries, 0, sizeof(self.entries))
        for key in range(DISPATCH_SIZE):
            self.entries[key].first_flexible = INT16_MAX
            self.entries[key].max_version = -1

    def set_first_flexible(self, int api_key, int16_t version) -> None:
        """Requests of `api_key` carry tagged fields in their header from `version` on (KIP-482)."""
        if not 0 <= api_key < DISPATCH_SIZE:
            raise ValueError(f"API key {api_key} is not between 0 and {DISPATCH_SIZE - 1}")
        self.entries[api_key].first_flexible = version

    def is_native(self, int api_key, int16_t version) -> bool:
        """Whether a processor asks a native handler before any Python one."""
        if not 0 <= api_key < DISPATCH_SIZE or self.entries[api_key].handle == NULL:
            return False
        if atomic_load_32(&self.entries[api_key].handed_over):
            return False
        return self.entries[api_key].min_version <= version <= self.entries[api_key].max_version

    def hand_over(self, api_keys: list[int] | None) -> None:
        """Requests of these APIs, of all with None, go to Python handlers from now on, and those of no others."""
        cdef int key
        for key in range(DISPATCH_SIZE):
            atomic_store_32(&self.entries[key].handed_over, api_keys is None or key in api_keys)
