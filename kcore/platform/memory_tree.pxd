from libc.stdint cimport int64_t, uint64_t
from libcpp.map cimport map as ordered_map
from libcpp.string cimport string
from libcpp.vector cimport vector
from kcore.platform.durable_content cimport DurableContent
from kcore.platform.memory_content cimport MemoryContent

# A file or a directory; it lives as long as a name, a descriptor, a mapping or a synced name uses it.
cdef struct MemoryNode:
    bint is_directory
    int uses
    int lock_holder              # descriptor that holds the lock, or -1
    int64_t modified_ms
    MemoryContent content        # of a file,
    DurableContent durable
    ordered_map[string, MemoryNode*]* synced_names   # and of a directory: its names at its last sync; each a use
    vector[string]* changed_names                    # and since: the name that went, the name that came
    vector[MemoryNode*]* changed_nodes               # to this; a use, NULL where a name only went

# All names of a disk, absolute and normalized.
cdef struct MemoryTree:
    ordered_map[string, MemoryNode*]* names
    bint keeps_history           # whether it can lose power

cdef void tree_init(MemoryTree* tree, bint keeps_history) noexcept nogil
cdef void tree_free(MemoryTree* tree) noexcept nogil
cdef void node_drop(MemoryNode* node) noexcept nogil

cdef string normalized(const char* path) noexcept nogil
cdef MemoryNode* tree_find(const MemoryTree* tree, const string& path) noexcept nogil
cdef int tree_check_parent(const MemoryTree* tree, const string& path) noexcept nogil
cdef MemoryNode* tree_add(MemoryTree* tree, const string& path, bint is_directory, int64_t now_ms) noexcept nogil
cdef int tree_rename(MemoryTree* tree, const string& source, const string& target) noexcept nogil
cdef int tree_remove(MemoryTree* tree, const string& path, bint directory) noexcept nogil
cdef int tree_list(const MemoryTree* tree, const string& path, vector[string]* names, vector[bint]* kinds) noexcept nogil
# Makes the names of a directory durable.
cdef int tree_sync_names(MemoryTree* tree, const string& path) noexcept nogil
# What a loss of power leaves: durable names with durable content, and with `chance` some of what was not.
cdef int tree_restore(MemoryTree* tree, size_t max_file_bytes, uint64_t* chance) noexcept nogil
