"""The dispatch table: the native handlers, and the layouts of request headers.

The table is filled before the server starts and then constant, so processors read it without a lock. Only `hand_over`,
which routes APIs to Python handlers for a while, changes it while they run, with atomic stores.
"""

from libc.stdint cimport INT16_MAX, int16_t
from libc.string cimport memset
from kcore.platform.sync cimport atomic_load_32, atomic_store_32


cdef class DispatchTable:
    """One entry per API key. A new table sends everything to Python handlers and has no flexible headers."""

    def __cinit__(self):
        cdef int key
        memset(self.entries, 0, sizeof(self.entries))
        for key in range(DISPATCH_SIZE):
            self.entries[key].first_flexible = INT16_MAX
            self.entries[key].max_version = -1

    def set_first_flexible(self, int api_key, int16_t version) -> None:
        """Sets the first version of an API whose request header has tagged fields (KIP-482)."""
        if not 0 <= api_key < DISPATCH_SIZE:
            raise ValueError(f"API key {api_key} is not between 0 and {DISPATCH_SIZE - 1}")
        self.entries[api_key].first_flexible = version

    def is_native(self, int api_key, int16_t version) -> bool:
        """Whether processors call a native handler for this API and version."""
        if not 0 <= api_key < DISPATCH_SIZE or self.entries[api_key].handle == NULL:
            return False
        if atomic_load_32(&self.entries[api_key].handed_over):
            return False
        return self.entries[api_key].min_version <= version <= self.entries[api_key].max_version

    def hand_over(self, api_keys: list[int] | None) -> None:
        """Routes these APIs to Python handlers, or all APIs if None. Every other API is routed normally again."""
        cdef int key
        for key in range(DISPATCH_SIZE):
            atomic_store_32(&self.entries[key].handed_over, api_keys is None or key in api_keys)
