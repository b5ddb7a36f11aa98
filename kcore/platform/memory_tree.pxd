from libc.stdint cimport int64_t, uint64_t
from libcpp.map cimport map as ordered_map
from libcpp.string cimport string
from libcpp.vector cimport vector
from kcore.platform.durable_content cimport DurableContent
from kcore.platform.memory_content cimport MemoryContent

# A file or a directory. It is freed when no name, descriptor, mapping or synced name uses it.
cdef struct MemoryNode:
    bint is_directory
    int uses
    int lock_holder              # descriptor that holds the lock, or -1
    int64_t modified_ms
    MemoryContent content        # files only,
    DurableContent durable
    ordered_map[string, MemoryNode*]* synced_names   # directories only: the names at the last sync; each is a use
    vector[string]* changed_names                    # and the changes since then: pairs of removed and added name
    vector[MemoryNode*]* changed_nodes               # the node of the added name, a use; NULL for a removal

# All names of a disk, absolute and normalized.
cdef struct MemoryTree:
    ordered_map[string, MemoryNode*]* names
    bint keeps_history           # whether the disk can lose power

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
# Makes the names in a directory durable.
cdef int tree_sync_names(MemoryTree* tree, const string& path) noexcept nogil
# Resets to what a loss of power leaves: durable names with durable content and, with `chance`, some unsynced changes.
cdef int tree_restore(MemoryTree* tree, size_t max_file_bytes, uint64_t* chance) noexcept nogil
