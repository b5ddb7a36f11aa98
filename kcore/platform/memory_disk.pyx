"""The table of disk operations in memory, for tests, simulation and brokers without persistence.

Semantics and errnos are those of RealDisk; one conformance suite tests both. Differences: a file has at most
`max_file_bytes`, and a mapping shows zeros beyond the end of the file instead of raising SIGBUS. Nothing survives the
process. With `volatile_cache` the disk models a loss of power: after `cut_power` every sync fails, and `restore_power`
brings back each file as of its last fdatasync, under the names as of the last sync of its directory. With a seed it
also keeps some unsynced changes, as a machine that had begun to write them (`durable_content`, `memory_tree`).

Time is the machine's clock. With `now_ms` it stands still until `advance`.

Concurrency: one lock for everything, held at most for a copy.
"""

from libc.errno cimport EAGAIN, EBADF, EEXIST, EINTR, EINVAL, EIO, EISDIR, ENOENT, ENOMEM, ENOTDIR, errno
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.map cimport map as ordered_map
from libcpp.string cimport string
from libcpp.vector cimport vector
from cython.operator cimport dereference, preincrement
from posix.fcntl cimport O_ACCMODE, O_CREAT, O_EXCL, O_RDONLY, O_TRUNC, O_WRONLY
from kcore.platform.disk cimport Disk, DiskOperations, DiskStat, EntryVisitor, iovec
from kcore.platform.durable_content cimport durable_note_resize, durable_note_write, durable_sync
from kcore.platform.memory_content cimport content_make_usable, content_resize
from kcore.platform.memory_tree cimport (
    MemoryNode, MemoryTree, node_drop, normalized, tree_add, tree_check_parent, tree_find, tree_free, tree_init,
    tree_list, tree_remove, tree_rename, tree_restore, tree_sync_names,
)
from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, CLOCK_REALTIME, atomic_add_64, atomic_load_64, clock_gettime, pthread_cond_broadcast,
    pthread_cond_destroy, pthread_cond_init, pthread_cond_t, pthread_cond_wait, pthread_mutex_destroy,
    pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock, timespec,
)

cdef extern from "<sys/socket.h>" nogil:
    enum:
        MSG_NOSIGNAL
    ssize_t c_send "send"(int socket, const void* data, size_t size, int flags)

cdef enum:
    # Far above the kernel's descriptors, so that no call confuses the two.
    FIRST_DESCRIPTOR = 1 << 24

DEFAULT_MAX_FILE_BYTES = 1 << 31


cdef cppclass OpenFile:
    MemoryNode* node
    int flags


cdef cppclass Files:
    pthread_mutex_t lock
    MemoryTree tree
    ordered_map[int, OpenFile] descriptors
    ordered_map[const uint8_t*, MemoryNode*] mappings  # by address; a node has one address only
    ordered_map[const uint8_t*, int] mapped            # how many times
    int next_descriptor
    size_t max_file_bytes
    bint virtual_clock
    int64_t clock_ns             # since 1970, if virtual
    bint power_is_cut
    bint syncs_are_held
    int waiting_syncs
    int64_t file_syncs           # successful ones
    pthread_cond_t syncs_changed

    __init__(size_t max_file_bytes, bint volatile_cache) nogil:
        pthread_mutex_init(&this.lock, NULL)
        pthread_cond_init(&this.syncs_changed, NULL)
        tree_init(&this.tree, volatile_cache)
        this.max_file_bytes = max_file_bytes
        this.next_descriptor = FIRST_DESCRIPTOR
        this.power_is_cut = this.syncs_are_held = False
        this.waiting_syncs = 0
        this.file_syncs = 0

    __dealloc__() nogil:
        tree_free(&this.tree)
        this.close_all()
        pthread_cond_destroy(&this.syncs_changed)
        pthread_mutex_destroy(&this.lock)

    void close_all() noexcept nogil:
        cdef ordered_map[int, OpenFile].iterator descriptor = this.descriptors.begin()
        while descriptor != this.descriptors.end():
            node_drop(dereference(descriptor).second.node)
            preincrement(descriptor)
        this.descriptors.clear()

    void wait_while_held() noexcept nogil:
        this.waiting_syncs += 1
        pthread_cond_broadcast(&this.syncs_changed)
        while this.syncs_are_held:
            pthread_cond_wait(&this.syncs_changed, &this.lock)
        this.waiting_syncs -= 1

    MemoryNode* opened(int descriptor) noexcept nogil:
        cdef ordered_map[int, OpenFile].iterator found = this.descriptors.find(descriptor)
        return <MemoryNode*>NULL if found == this.descriptors.end() else dereference(found).second.node

    bint may(int descriptor, int refused_mode) noexcept nogil:
        return this.descriptors[descriptor].flags & O_ACCMODE != refused_mode

    int resize(MemoryNode* node, int64_t size) noexcept nogil:
        if this.tree.keeps_history:
            durable_note_resize(&node.durable, size)
        node.modified_ms = this.now_ms()
        return content_resize(&node.content, size, this.max_file_bytes)

    int64_t now_ns(int clock) noexcept nogil:
        cdef timespec now
        if this.virtual_clock:
            return atomic_load_64(&this.clock_ns)
        clock_gettime(clock, &now)
        return <int64_t>now.tv_sec * 1000000000 + now.tv_nsec

    int64_t now_ms() noexcept nogil:
        return this.now_ns(CLOCK_REALTIME) // 1000000


# --- the operations, under the lock -----------------------------------------------------------------------------------


cdef int open_locked(Files* files, const string& path, int flags) noexcept nogil:
    cdef MemoryNode* node = tree_find(&files.tree, path)
    cdef OpenFile opened
    cdef int outcome
    if node == NULL:
        if not flags & O_CREAT:
            outcome = tree_check_parent(&files.tree, path)
            return outcome if outcome == -ENOTDIR else -ENOENT
        outcome = tree_check_parent(&files.tree, path)
        if outcome < 0:
            return outcome
        node = tree_add(&files.tree, path, False, files.now_ms())
        if node == NULL:
            return -ENOMEM
    elif flags & O_CREAT and flags & O_EXCL:
        return -EEXIST
    elif node.is_directory and (flags & O_ACCMODE != O_RDONLY or flags & O_CREAT):
        return -EISDIR
    elif flags & O_TRUNC:
        files.resize(node, 0)
    node.uses += 1
    opened.node = node
    opened.flags = flags
    files.descriptors[files.next_descriptor] = opened
    files.next_descriptor += 1
    return files.next_descriptor - 1


cdef int close_locked(Files* files, int descriptor) noexcept nogil:
    cdef MemoryNode* node = files.opened(descriptor)
    if node == NULL:
        return -EBADF
    if node.lock_holder == descriptor:
        node.lock_holder = -1
    files.descriptors.erase(descriptor)
    node_drop(node)
    return 0


cdef int64_t pread_locked(Files* files, int descriptor, void* buffer, size_t size, int64_t position) noexcept nogil:
    cdef MemoryNode* node = files.opened(descriptor)
    cdef size_t count
    if node == NULL or not files.may(descriptor, O_WRONLY):
        return -EBADF
    if node.is_directory:
        return -EISDIR
    if position < 0:
        return -EINVAL
    if position >= node.content.size:
        return 0
    count = min(size, <size_t>(node.content.size - position))
    memcpy(buffer, node.content.data + position, count)
    return <int64_t>count


cdef int64_t pwritev_locked(Files* files, int descriptor, const iovec* parts, int count,
                            int64_t position) noexcept nogil:
    cdef MemoryNode* node = files.opened(descriptor)
    cdef size_t total = 0
    cdef int64_t at = position
    cdef int i, outcome
    if node == NULL or not files.may(descriptor, O_RDONLY):
        return -EBADF
    if position < 0:
        return -EINVAL
    for i in range(count):
        total += parts[i].iov_len
    if total == 0:
        return 0
    outcome = content_make_usable(&node.content, <size_t>position + total, files.max_file_bytes)
    if outcome < 0:
        return outcome
    for i in range(count):
        if parts[i].iov_len:
            memcpy(node.content.data + at, parts[i].iov_base, parts[i].iov_len)
            at += <int64_t>parts[i].iov_len
    node.content.size = max(node.content.size, at)
    node.modified_ms = files.now_ms()
    if files.tree.keeps_history:
        durable_note_write(&node.durable, position, <int64_t>total)
    return <int64_t>total


cdef int resize_locked(Files* files, int descriptor, int64_t size, bint only_grow) noexcept nogil:
    cdef MemoryNode* node = files.opened(descriptor)
    if node == NULL:
        return -EBADF
    if not files.may(descriptor, O_RDONLY):
        return -EBADF if only_grow else -EINVAL
    if size < 0 or node.is_directory:
        return -EINVAL
    if only_grow and size <= node.content.size:
        return 0
    return files.resize(node, size)


cdef const uint8_t* map_locked(Files* files, int descriptor, size_t size, int* error) noexcept nogil:
    cdef MemoryNode* node = files.opened(descriptor)
    if node == NULL:
        error[0] = -EBADF
        return NULL
    error[0] = -EINVAL if size == 0 else content_make_usable(&node.content, size, files.max_file_bytes)
    if error[0] < 0:
        return NULL
    node.uses += 1
    files.mappings[node.content.data] = node
    files.mapped[node.content.data] += 1
    return node.content.data


cdef int unmap_locked(Files* files, const uint8_t* address) noexcept nogil:
    cdef ordered_map[const uint8_t*, MemoryNode*].iterator found = files.mappings.find(address)
    cdef MemoryNode* node
    if found == files.mappings.end():
        return -EINVAL
    node = dereference(found).second
    files.mapped[address] -= 1
    if files.mapped[address] == 0:
        files.mapped.erase(address)
        files.mappings.erase(found)
    node_drop(node)
    return 0


cdef int mkdir_locked(Files* files, const string& path) noexcept nogil:
    cdef int outcome
    if tree_find(&files.tree, path) != NULL:
        return -EEXIST
    outcome = tree_check_parent(&files.tree, path)
    if outcome >= 0 and tree_add(&files.tree, path, True, files.now_ms()) == NULL:
        return -ENOMEM
    return outcome


cdef int take_file_locked(Files* files, int descriptor) noexcept nogil:
    cdef MemoryNode* node = files.opened(descriptor)
    if node == NULL:
        return -EBADF
    if node.lock_holder >= 0 and node.lock_holder != descriptor:
        return -EAGAIN
    node.lock_holder = descriptor
    return 0


cdef int sync_locked(Files* files, MemoryNode* node) noexcept nogil:
    if node == NULL:
        return -EBADF
    if files.power_is_cut:
        return -EIO
    files.file_syncs += 1
    if files.tree.keeps_history and not node.is_directory:
        durable_sync(&node.durable, &node.content)
    return 0


# --- the table --------------------------------------------------------------------------------------------------------


cdef int memory_open(void* context, const char* path, int flags, int mode) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = open_locked(files, normalized(path), flags)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_close(void* context, int descriptor) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = close_locked(files, descriptor)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int fill_stat(const MemoryNode* node, int missing, DiskStat* out) noexcept nogil:
    if node == NULL:
        return missing
    out.size_bytes = node.content.size
    out.modified_ms = node.modified_ms
    out.is_directory = node.is_directory
    return 0


cdef int memory_fstat(void* context, int descriptor, DiskStat* out) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = fill_stat(files.opened(descriptor), -EBADF, out)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_stat(void* context, const char* path, DiskStat* out) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = fill_stat(tree_find(&files.tree, normalized(path)), -ENOENT, out)
    if outcome == -ENOENT and tree_check_parent(&files.tree, normalized(path)) == -ENOTDIR:
        outcome = -ENOTDIR
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int64_t memory_pread(void* context, int descriptor, void* buffer, size_t size, int64_t position) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int64_t outcome
    pthread_mutex_lock(&files.lock)
    outcome = pread_locked(files, descriptor, buffer, size, position)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int64_t memory_pwritev(void* context, int descriptor, const iovec* parts, int count,
                            int64_t position) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int64_t outcome
    pthread_mutex_lock(&files.lock)
    outcome = pwritev_locked(files, descriptor, parts, count, position)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_fallocate(void* context, int descriptor, int64_t position, int64_t size) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    if position < 0 or size <= 0:
        return -EINVAL
    pthread_mutex_lock(&files.lock)
    outcome = resize_locked(files, descriptor, position + size, True)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_ftruncate(void* context, int descriptor, int64_t size) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = resize_locked(files, descriptor, size, False)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_fdatasync(void* context, int descriptor) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    files.wait_while_held()
    outcome = sync_locked(files, files.opened(descriptor))
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef const uint8_t* memory_mmap(void* context, int descriptor, size_t size, int* error) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef const uint8_t* address
    pthread_mutex_lock(&files.lock)
    address = map_locked(files, descriptor, size, error)
    pthread_mutex_unlock(&files.lock)
    return address


cdef int memory_munmap(void* context, const uint8_t* address, size_t size) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = unmap_locked(files, address)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_rename(void* context, const char* source, const char* target) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = tree_rename(&files.tree, normalized(source), normalized(target))
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_unlink(void* context, const char* path) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = tree_remove(&files.tree, normalized(path), False)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_mkdir(void* context, const char* path, int mode) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = mkdir_locked(files, normalized(path))
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_rmdir(void* context, const char* path) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = tree_remove(&files.tree, normalized(path), True)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_readdir(void* context, const char* path, EntryVisitor visit, void* argument) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef vector[string] names
    cdef vector[bint] kinds
    cdef size_t i
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = tree_list(&files.tree, normalized(path), &names, &kinds)
    pthread_mutex_unlock(&files.lock)
    for i in range(names.size()):
        if outcome == 0:
            outcome = visit(argument, names[i].c_str(), kinds[i])
    return outcome if outcome < 0 else 0


cdef int memory_fsync_directory(void* context, const char* path) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = -EIO if files.power_is_cut else tree_sync_names(&files.tree, normalized(path))
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_lock(void* context, int descriptor) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = take_file_locked(files, descriptor)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int64_t memory_sendfile(void* context, int socket, int descriptor, int64_t position, size_t size) noexcept nogil:
    """Sends from the file's memory. The mapping keeps it valid while no lock is held."""
    cdef DiskStat stat
    cdef const uint8_t* address
    cdef ssize_t outcome
    cdef int error = memory_fstat(context, descriptor, &stat)
    if error < 0:
        return error
    if position < 0:
        return -EINVAL
    if position >= stat.size_bytes or size == 0:
        return 0
    size = min(size, <size_t>(stat.size_bytes - position))
    address = memory_mmap(context, descriptor, <size_t>stat.size_bytes, &error)
    if address == NULL:
        return error
    while True:
        outcome = c_send(socket, address + position, size, MSG_NOSIGNAL)
        if outcome >= 0 or errno != EINTR:
            break
    error = -errno if outcome < 0 else 0
    memory_munmap(context, address, <size_t>stat.size_bytes)
    return outcome if error == 0 else error


cdef int64_t memory_now_ms(void* context) noexcept nogil:
    return (<Files*>context).now_ms()


cdef int64_t memory_monotonic_ns(void* context) noexcept nogil:
    return (<Files*>context).now_ns(CLOCK_MONOTONIC)


cdef class MemoryDisk(Disk):
    """An empty disk with the directory `/`. With `now_ms` it has its own clock.

    `advance` moves that clock, both wall time and monotonic time. With `volatile_cache` the disk can lose power.
    """

    def __cinit__(self, now_ms=None, size_t max_file_bytes=DEFAULT_MAX_FILE_BYTES, bint volatile_cache=False):
        cdef Files* files = new Files(max_file_bytes, volatile_cache)
        cdef DiskOperations* table = &self.operations
        files.virtual_clock = now_ms is not None
        files.clock_ns = 0 if now_ms is None else <int64_t>now_ms * 1000000
        tree_add(&files.tree, string(b"/"), True, files.now_ms())
        table.context = files
        table.open = memory_open
        table.close = memory_close
        table.fstat = memory_fstat
        table.stat = memory_stat
        table.pread = memory_pread
        table.pwritev = memory_pwritev
        table.fallocate = memory_fallocate
        table.ftruncate = memory_ftruncate
        table.fdatasync = memory_fdatasync
        table.mmap = memory_mmap
        table.munmap = memory_munmap
        table.rename = memory_rename
        table.unlink = memory_unlink
        table.mkdir = memory_mkdir
        table.rmdir = memory_rmdir
        table.readdir = memory_readdir
        table.fsync_directory = memory_fsync_directory
        table.lock = memory_lock
        table.sendfile = memory_sendfile
        table.now_ms = memory_now_ms
        table.monotonic_ns = memory_monotonic_ns

    def __dealloc__(self):
        cdef Files* files = <Files*>self.operations.context
        del files

    def advance(self, int64_t milliseconds):
        """Moves the disk's own clock forward. Raises ValueError for a disk without one."""
        cdef Files* files = <Files*>self.operations.context
        if not files.virtual_clock or milliseconds < 0:
            raise ValueError("only a disk made with now_ms has a clock to move, and only forward")
        atomic_add_64(&files.clock_ns, milliseconds * 1000000)

    def hold_syncs(self):
        """Makes every fdatasync wait for `release_syncs`."""
        cdef Files* files = <Files*>self.operations.context
        with nogil:
            pthread_mutex_lock(&files.lock)
            files.syncs_are_held = True
            pthread_mutex_unlock(&files.lock)

    def release_syncs(self):
        """Lets the waiting fdatasyncs continue and later ones run normally."""
        cdef Files* files = <Files*>self.operations.context
        with nogil:
            pthread_mutex_lock(&files.lock)
            files.syncs_are_held = False
            pthread_cond_broadcast(&files.syncs_changed)
            pthread_mutex_unlock(&files.lock)

    def wait_for_held_sync(self):
        """Blocks until a thread waits in an fdatasync."""
        cdef Files* files = <Files*>self.operations.context
        with nogil:
            pthread_mutex_lock(&files.lock)
            while files.waiting_syncs == 0:
                pthread_cond_wait(&files.syncs_changed, &files.lock)
            pthread_mutex_unlock(&files.lock)

    @property
    def file_syncs(self):
        """The number of successful fdatasyncs."""
        cdef Files* files = <Files*>self.operations.context
        cdef int64_t count
        with nogil:
            pthread_mutex_lock(&files.lock)
            count = files.file_syncs
            pthread_mutex_unlock(&files.lock)
        return count

    def cut_power(self):
        """Makes every sync fail with EIO, including those that are held. Nothing becomes durable any more."""
        cdef Files* files = <Files*>self.operations.context
        with nogil:
            pthread_mutex_lock(&files.lock)
            files.power_is_cut = True
            files.syncs_are_held = False
            pthread_cond_broadcast(&files.syncs_changed)
            pthread_mutex_unlock(&files.lock)

    def restore_power(self, seed=None):
        """Resets the disk to its durable content, with a seed plus some unsynced changes. Closes all descriptors."""
        cdef Files* files = <Files*>self.operations.context
        cdef uint64_t chance = 0 if seed is None else <uint64_t>(seed & 0xFFFFFFFFFFFFFFFF)
        cdef bint survives = seed is not None
        cdef int outcome
        if not files.tree.keeps_history:
            raise ValueError("only a disk made with volatile_cache has something to lose")
        with nogil:
            pthread_mutex_lock(&files.lock)
            files.power_is_cut = False
            outcome = tree_restore(&files.tree, files.max_file_bytes, &chance if survives else NULL)
            files.close_all()
            pthread_mutex_unlock(&files.lock)
        self.check(outcome, None)

    @property
    def open_descriptors(self):
        """The number of open descriptors."""
        cdef Files* files = <Files*>self.operations.context
        cdef size_t count
        with nogil:
            pthread_mutex_lock(&files.lock)
            count = files.descriptors.size()
            pthread_mutex_unlock(&files.lock)
        return count
