"""The names of a MemoryDisk: an ordered map of absolute paths to files and directories, and which of it is durable.

Renames and removals return the errnos of rename(2), unlink(2) and rmdir(2). With `keeps_history` each directory
remembers its names at its last sync and every change since. A loss of power undoes the changes. With `chance` the first
few changes of each directory survive, in order, as in a file system with a journal: a rename is one change and shows
either the old or the new name. Unlike in a journal, directories are independent of each other.

Concurrency: the caller holds the disk's lock.
"""

from libc.errno cimport EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport strchr
from libcpp.map cimport map as ordered_map
from libcpp.string cimport string
from libcpp.vector cimport vector
from cython.operator cimport dereference, preincrement
from kcore.platform.chance cimport chance_below
from kcore.platform.durable_content cimport durable_free, durable_restore
from kcore.platform.memory_content cimport content_free


cdef void tree_init(MemoryTree* tree, bint keeps_history) noexcept nogil:
    tree.names = new ordered_map[string, MemoryNode*]()
    tree.keeps_history = keeps_history


cdef void drop_names(ordered_map[string, MemoryNode*]* names) noexcept nogil:
    cdef ordered_map[string, MemoryNode*].iterator i = names.begin()
    while i != names.end():
        node_drop(dereference(i).second)
        preincrement(i)
    names.clear()


cdef void tree_free(MemoryTree* tree) noexcept nogil:
    cdef ordered_map[string, MemoryNode*]* names = tree.names
    drop_names(names)
    del names


# --- nodes ------------------------------------------------------------------------------------------------------------


cdef MemoryNode* node_new(bint is_directory, int64_t now_ms) noexcept nogil:
    cdef MemoryNode* node = <MemoryNode*>calloc(1, sizeof(MemoryNode))
    if node != NULL:
        node.is_directory = is_directory
        node.uses = 1
        node.lock_holder = -1
        node.modified_ms = now_ms
    return node


cdef void node_drop(MemoryNode* node) noexcept nogil:
    """Drops one use. The last one frees the node."""
    node.uses -= 1
    if node.uses:
        return
    forget_history(node)
    durable_free(&node.durable)
    content_free(&node.content)
    free(node)


cdef void forget_changes(MemoryNode* directory) noexcept nogil:
    cdef size_t i
    if directory.changed_nodes == NULL:
        return
    for i in range(directory.changed_nodes.size()):
        if directory.changed_nodes[0][i] != NULL:
            node_drop(directory.changed_nodes[0][i])
    directory.changed_nodes.clear()
    directory.changed_names.clear()


cdef void forget_history(MemoryNode* node) noexcept nogil:
    cdef ordered_map[string, MemoryNode*]* names = node.synced_names
    cdef vector[string]* changed_names = node.changed_names
    cdef vector[MemoryNode*]* changed_nodes = node.changed_nodes
    forget_changes(node)
    if names != NULL:
        drop_names(names)
    del names
    del changed_names
    del changed_nodes
    node.synced_names = NULL
    node.changed_names = NULL
    node.changed_nodes = NULL


# --- paths ------------------------------------------------------------------------------------------------------------


cdef string normalized(const char* path) noexcept nogil:
    """The absolute path without empty or `.` parts. A relative path starts at the root."""
    cdef string given = string(path)
    cdef string result
    cdef size_t start = 0, end
    while start < given.size():
        end = start
        while end < given.size() and given[end] != c"/":
            end += 1
        if end > start and not (end == start + 1 and given[start] == c"."):
            result.push_back(c"/")
            result.append(given.substr(start, end - start))
        start = end + 1
    if result.empty():
        result.push_back(c"/")
    return result


cdef string parent_of(const string& path) noexcept nogil:
    cdef size_t slash = path.rfind(c"/")
    return path.substr(0, slash if slash > 0 else 1)


cdef string name_in_parent(const string& path) noexcept nogil:
    return path.substr(path.rfind(c"/") + 1)


cdef string directory_prefix(const string& directory) noexcept nogil:
    cdef string prefix = directory
    if prefix.size() > 1:
        prefix.push_back(c"/")
    return prefix


cdef bint starts_with(const string& text, const string& prefix) noexcept nogil:
    return text.compare(0, prefix.size(), prefix) == 0


# --- names ------------------------------------------------------------------------------------------------------------


cdef MemoryNode* tree_find(const MemoryTree* tree, const string& path) noexcept nogil:
    cdef ordered_map[string, MemoryNode*].iterator found = tree.names.find(path)
    return <MemoryNode*>NULL if found == tree.names.end() else dereference(found).second


cdef int tree_check_parent(const MemoryTree* tree, const string& path) noexcept nogil:
    cdef MemoryNode* parent = tree_find(tree, parent_of(path))
    if parent == NULL:
        return -ENOENT
    return 0 if parent.is_directory else -ENOTDIR


cdef bint has_entries(const MemoryTree* tree, const string& directory) noexcept nogil:
    cdef string prefix = directory_prefix(directory)
    cdef ordered_map[string, MemoryNode*].iterator first = tree.names.upper_bound(prefix)
    return first != tree.names.end() and starts_with(dereference(first).first, prefix)


cdef void note_change(MemoryTree* tree, const string& directory, const string& gone, const string& come,
                      MemoryNode* node) noexcept nogil:
    """Records that one name in a directory went and another one came, atomically. An empty name means none."""
    cdef MemoryNode* parent = tree_find(tree, directory)
    if not tree.keeps_history or parent == NULL:
        return
    if parent.changed_names == NULL:
        parent.changed_names = new vector[string]()
        parent.changed_nodes = new vector[MemoryNode*]()
    parent.changed_names.push_back(gone)
    parent.changed_names.push_back(come)
    parent.changed_nodes.push_back(node)
    if node != NULL:
        node.uses += 1


cdef MemoryNode* tree_add(MemoryTree* tree, const string& path, bint is_directory, int64_t now_ms) noexcept nogil:
    cdef MemoryNode* node = node_new(is_directory, now_ms)
    if node == NULL:
        return NULL
    if path.size() > 1:
        note_change(tree, parent_of(path), string(), name_in_parent(path), node)
    tree.names[0][path] = node
    return node


cdef void forget(MemoryTree* tree, const string& path) noexcept nogil:
    cdef MemoryNode* node = tree_find(tree, path)
    tree.names.erase(path)
    node_drop(node)


cdef int tree_rename(MemoryTree* tree, const string& source, const string& target) noexcept nogil:
    cdef MemoryNode* node = tree_find(tree, source)
    cdef MemoryNode* replaced = tree_find(tree, target)
    cdef int outcome = -ENOENT if node == NULL else tree_check_parent(tree, target)
    if outcome < 0:
        return outcome
    if source == target:
        return 0
    if node.is_directory and starts_with(target, directory_prefix(source)):
        return -EINVAL
    if replaced != NULL:
        if replaced.is_directory and not node.is_directory:
            return -EISDIR
        if node.is_directory and not replaced.is_directory:
            return -ENOTDIR
        if replaced.is_directory and has_entries(tree, target):
            return -ENOTEMPTY
        forget(tree, target)
    if parent_of(source) == parent_of(target):
        note_change(tree, parent_of(target), name_in_parent(source), name_in_parent(target), node)
    else:
        note_change(tree, parent_of(target), string(), name_in_parent(target), node)
        note_change(tree, parent_of(source), name_in_parent(source), string(), NULL)
    tree.names.erase(source)
    tree.names[0][target] = node
    if node.is_directory:
        move_entries(tree, directory_prefix(source), directory_prefix(target))
    return 0


cdef void move_entries(MemoryTree* tree, const string& source, const string& target) noexcept nogil:
    cdef vector[string] moved
    cdef ordered_map[string, MemoryNode*].iterator i = tree.names.upper_bound(source)
    cdef size_t position
    cdef MemoryNode* node
    while i != tree.names.end() and starts_with(dereference(i).first, source):
        moved.push_back(dereference(i).first)
        preincrement(i)
    for position in range(moved.size()):
        node = tree_find(tree, moved[position])
        tree.names.erase(moved[position])
        tree.names[0][target + moved[position].substr(source.size())] = node


cdef int tree_remove(MemoryTree* tree, const string& path, bint directory) noexcept nogil:
    cdef MemoryNode* node = tree_find(tree, path)
    cdef int outcome
    if node == NULL:
        outcome = tree_check_parent(tree, path)
        return outcome if outcome == -ENOTDIR else -ENOENT
    if directory and not node.is_directory:
        return -ENOTDIR
    if not directory and node.is_directory:
        return -EISDIR
    if directory and has_entries(tree, path):
        return -ENOTEMPTY
    note_change(tree, parent_of(path), name_in_parent(path), string(), NULL)
    forget(tree, path)
    return 0


cdef int tree_list(const MemoryTree* tree, const string& path, vector[string]* names, vector[bint]* kinds) noexcept nogil:
    cdef MemoryNode* node = tree_find(tree, path)
    cdef string prefix = directory_prefix(path)
    cdef string name
    cdef ordered_map[string, MemoryNode*].iterator i
    if node == NULL:
        return -ENOENT
    if not node.is_directory:
        return -ENOTDIR
    i = tree.names.upper_bound(prefix)
    while i != tree.names.end() and starts_with(dereference(i).first, prefix):
        name = dereference(i).first.substr(prefix.size())
        if strchr(name.c_str(), c"/") == NULL:
            names.push_back(name)
            kinds.push_back(dereference(i).second.is_directory)
        preincrement(i)
    return 0


# --- durability -------------------------------------------------------------------------------------------------------


cdef int tree_sync_names(MemoryTree* tree, const string& path) noexcept nogil:
    cdef MemoryNode* directory = tree_find(tree, path)
    if directory == NULL:
        return -ENOENT
    if not directory.is_directory:
        return -ENOTDIR
    if tree.keeps_history:
        keep_changes(directory, directory.changed_nodes.size() if directory.changed_nodes != NULL else 0)
    return 0


cdef void set_name(ordered_map[string, MemoryNode*]* names, const string& name, MemoryNode* node) noexcept nogil:
    """Maps a name to a node, or removes it if `node` is NULL."""
    cdef ordered_map[string, MemoryNode*].iterator found = names.find(name)
    if node != NULL:
        node.uses += 1
    if found != names.end():
        node_drop(dereference(found).second)
        names.erase(found)
    if node != NULL:
        names[0][name] = node


cdef void keep_changes(MemoryNode* directory, size_t count) noexcept nogil:
    """Makes the first `count` changes durable and drops the others."""
    cdef size_t i
    if directory.synced_names == NULL:
        directory.synced_names = new ordered_map[string, MemoryNode*]()
    for i in range(count):
        if not directory.changed_names[0][2 * i].empty():
            set_name(directory.synced_names, directory.changed_names[0][2 * i], NULL)
        if not directory.changed_names[0][2 * i + 1].empty():
            set_name(directory.synced_names, directory.changed_names[0][2 * i + 1], directory.changed_nodes[0][i])
    forget_changes(directory)


cdef int tree_restore(MemoryTree* tree, size_t max_file_bytes, uint64_t* chance) noexcept nogil:
    cdef ordered_map[string, MemoryNode*]* names = new ordered_map[string, MemoryNode*]()
    cdef ordered_map[string, MemoryNode*]* before = tree.names
    cdef int outcome = restore(string(b"/"), tree_find(tree, string(b"/")), names, max_file_bytes, chance)
    tree.names = names
    drop_names(before)
    del before
    return outcome


cdef int restore(const string& path, MemoryNode* node, ordered_map[string, MemoryNode*]* names, size_t max_file_bytes,
                 uint64_t* chance) noexcept nogil:
    """Restores a node under its name, and everything below it."""
    cdef ordered_map[string, MemoryNode*].iterator i
    cdef int outcome = 0
    node.uses += 1
    node.lock_holder = -1
    names[0][path] = node
    if not node.is_directory:
        return durable_restore(&node.durable, &node.content, max_file_bytes, chance)
    keep_changes(node, surviving_changes(node, chance))
    i = node.synced_names.begin()
    while outcome >= 0 and i != node.synced_names.end():
        outcome = restore(directory_prefix(path) + dereference(i).first, dereference(i).second, names, max_file_bytes,
                          chance)
        preincrement(i)
    return outcome


cdef size_t surviving_changes(const MemoryNode* directory, uint64_t* chance) noexcept nogil:
    """All, none, or the first few, with a probability of one third each."""
    cdef size_t count = directory.changed_nodes.size() if directory.changed_nodes != NULL else 0
    cdef uint64_t kind
    if chance == NULL or count == 0:
        return 0
    kind = chance_below(chance, 3)
    if kind < 2:
        return count if kind else 0
    return <size_t>chance_below(chance, count + 1)
