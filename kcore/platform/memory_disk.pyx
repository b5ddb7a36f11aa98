"""The table of disk operations over memory: for tests, simulation and brokers that keep nothing.

Names live in one ordered map of absolute paths, a file's bytes in address space reserved once, so that a mapping stays
where it is while the file grows. Semantics and errnos are RealDisk's; the conformance suite holds both to them. What is
different: a file holds at most `max_file_bytes`, and a mapping shows bytes past the file's end as zeros instead of raising
SIGBUS. Nothing survives the process; but with `volatile_cache` the disk survives a loss of power as a machine's would:
`cut_power` lets every sync fail from then on, and `restore_power` brings back the bytes that were there at each file's
last fdatasync, under the names that their directories had at their last sync.

Time is the machine's, or, when `now_ms` is given, stands still until `advance`.

Concurrency: one lock around everything, held for a copy at most.
"""

from libc.errno cimport (
    EAGAIN, EBADF, EEXIST, EFBIG, EINTR, EINVAL, EIO, EISDIR, ENOENT, ENOMEM, ENOTDIR, ENOTEMPTY, errno,
)
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset, strchr
from libcpp.map cimport map as ordered_map
from libcpp.string cimport string
from libcpp.vector cimport vector
from cython.operator cimport dereference, preincrement
from posix.fcntl cimport O_ACCMODE, O_CREAT, O_EXCL, O_RDONLY, O_TRUNC, O_WRONLY
from kcore.platform.disk cimport Disk, DiskOperations, DiskStat, EntryVisitor, iovec
from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, CLOCK_REALTIME, atomic_add_64, atomic_load_64, clock_gettime, pthread_cond_broadcast,
    pthread_cond_destroy, pthread_cond_init, pthread_cond_t, pthread_cond_wait, pthread_mutex_destroy,
    pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock, timespec,
)

cdef extern from "<sys/mman.h>" nogil:
    enum:
        PROT_NONE
        PROT_READ
        PROT_WRITE
        MAP_PRIVATE
        MAP_ANONYMOUS
        MAP_NORESERVE
        MADV_DONTNEED
    void* MAP_FAILED
    void* c_mmap "mmap"(void* address, size_t size, int protection, int flags, int descriptor, long position)
    int c_munmap "munmap"(void* address, size_t size)
    int mprotect(void* address, size_t size, int protection)
    int madvise(void* address, size_t size, int advice)

cdef extern from "<sys/socket.h>" nogil:
    enum:
        MSG_NOSIGNAL
    ssize_t c_send "send"(int socket, const void* data, size_t size, int flags)

cdef extern from "<sys/file.h>" nogil:
    enum:
        LOCK_UN

cdef enum:
    # Far above what the kernel hands out, so that no call mistakes one for the other.
    FIRST_DESCRIPTOR = 1 << 24
    PAGE_BYTES = 4096
    GROWTH_BYTES = 1 << 16

DEFAULT_MAX_FILE_BYTES = 1 << 31


cdef cppclass Node:
    """A file or a directory; it lives as long as its name, a descriptor or a mapping."""
    bint is_directory
    int64_t size
    int64_t modified_ms
    uint8_t* data                # reserved for `reserved` bytes, usable for `usable`
    size_t reserved
    size_t usable
    int uses                     # names, descriptors and mappings
    int lock_holder              # descriptor that holds flock, or -1
    string synced                # what a loss of power leaves of a file,
    ordered_map[string, Node*] synced_names  # and of a directory; each a use

    __init__() nogil:
        this.is_directory = False
        this.size = this.modified_ms = 0
        this.data = NULL
        this.reserved = this.usable = 0
        this.uses = 0
        this.lock_holder = -1

    __dealloc__() nogil:
        this.forget_synced_names()
        if this.data != NULL:
            c_munmap(this.data, this.reserved)

    void forget_synced_names() noexcept nogil:
        cdef ordered_map[string, Node*].iterator i = this.synced_names.begin()
        while i != this.synced_names.end():
            drop(dereference(i).second)
            preincrement(i)
        this.synced_names.clear()

    int make_usable(size_t size, size_t limit) noexcept nogil:
        cdef void* memory
        cdef size_t wanted = (size + GROWTH_BYTES - 1) // GROWTH_BYTES * GROWTH_BYTES
        if size > limit:
            return -EFBIG
        if size <= this.usable:
            return 0
        if this.data == NULL:
            this.reserved = (limit + GROWTH_BYTES - 1) // GROWTH_BYTES * GROWTH_BYTES
            memory = c_mmap(NULL, this.reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
            if memory == MAP_FAILED:
                return -ENOMEM
            this.data = <uint8_t*>memory
        if mprotect(this.data, wanted, PROT_READ | PROT_WRITE) != 0:
            return -ENOMEM
        this.usable = wanted
        return 0

    int resize(int64_t size, size_t limit) noexcept nogil:
        cdef int outcome = this.make_usable(<size_t>size, limit)
        cdef size_t page
        if outcome < 0:
            return outcome
        if size < this.size:
            # Whole pages go back to the system, the rest is wiped: growing again must show zeros.
            page = (<size_t>size + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES
            if page < this.usable:
                madvise(this.data + page, this.usable - page, MADV_DONTNEED)
            memset(this.data + size, 0, min(page, this.usable) - <size_t>size)
        this.size = size
        return 0


cdef void drop(Node* node) noexcept nogil:
    """One use less: of a name, a descriptor or a mapping."""
    node.uses -= 1
    if node.uses == 0:
        del node


cdef cppclass OpenFile:
    Node* node
    int flags


cdef cppclass Files:
    pthread_mutex_t lock
    ordered_map[string, Node*] names
    ordered_map[int, OpenFile] descriptors
    ordered_map[const uint8_t*, Node*] mappings  # by address; a node is mapped at one address only
    ordered_map[const uint8_t*, int] mapped      # how many times
    int next_descriptor
    size_t max_file_bytes
    bint virtual_clock
    int64_t clock_ns             # since 1970, when virtual
    bint volatile_cache
    bint power_is_cut
    bint syncs_are_held
    int waiting_syncs
    int64_t file_syncs           # that succeeded
    pthread_cond_t syncs_changed

    __init__() nogil:
        pthread_mutex_init(&this.lock, NULL)
        pthread_cond_init(&this.syncs_changed, NULL)
        this.next_descriptor = FIRST_DESCRIPTOR
        this.volatile_cache = this.power_is_cut = this.syncs_are_held = False
        this.waiting_syncs = 0
        this.file_syncs = 0

    __dealloc__() nogil:
        cdef ordered_map[string, Node*].iterator name = this.names.begin()
        cdef ordered_map[int, OpenFile].iterator descriptor = this.descriptors.begin()
        while name != this.names.end():
            drop(dereference(name).second)
            preincrement(name)
        while descriptor != this.descriptors.end():
            drop(dereference(descriptor).second.node)
            preincrement(descriptor)
        pthread_cond_destroy(&this.syncs_changed)
        pthread_mutex_destroy(&this.lock)

    void wait_while_held() noexcept nogil:
        this.waiting_syncs += 1
        pthread_cond_broadcast(&this.syncs_changed)
        while this.syncs_are_held:
            pthread_cond_wait(&this.syncs_changed, &this.lock)
        this.waiting_syncs -= 1

    Node* find(const string& path) noexcept nogil:
        cdef ordered_map[string, Node*].iterator found = this.names.find(path)
        return <Node*>NULL if found == this.names.end() else dereference(found).second

    Node* opened(int descriptor) noexcept nogil:
        cdef ordered_map[int, OpenFile].iterator found = this.descriptors.find(descriptor)
        return <Node*>NULL if found == this.descriptors.end() else dereference(found).second.node

    int check_parent(const string& path) noexcept nogil:
        cdef Node* parent = this.find(parent_of(path))
        if parent == NULL:
            return -ENOENT
        return 0 if parent.is_directory else -ENOTDIR

    Node* add(const string& path, bint is_directory) noexcept nogil:
        cdef Node* node = new Node()
        node.is_directory = is_directory
        node.uses = 1
        node.modified_ms = this.now_ms()
        this.names[path] = node
        return node

    void forget(const string& path) noexcept nogil:
        cdef Node* node = this.find(path)
        this.names.erase(path)
        drop(node)

    bint has_entries(const string& directory) noexcept nogil:
        cdef string prefix = directory_prefix(directory)
        cdef ordered_map[string, Node*].iterator first = this.names.upper_bound(prefix)
        return first != this.names.end() and starts_with(dereference(first).first, prefix)

    int64_t now_ns(int clock) noexcept nogil:
        cdef timespec now
        if this.virtual_clock:
            return atomic_load_64(&this.clock_ns)
        clock_gettime(clock, &now)
        return <int64_t>now.tv_sec * 1000000000 + now.tv_nsec

    int64_t now_ms() noexcept nogil:
        return this.now_ns(CLOCK_REALTIME) // 1000000


cdef string normalized(const char* path) noexcept nogil:
    """Absolute, without empty or `.` parts; a relative path counts from the root."""
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


cdef string directory_prefix(const string& directory) noexcept nogil:
    cdef string prefix = directory
    if prefix.size() > 1:
        prefix.push_back(c"/")
    return prefix


cdef bint starts_with(const string& text, const string& prefix) noexcept nogil:
    return text.compare(0, prefix.size(), prefix) == 0


# --- the operations, under the lock -----------------------------------------------------------------------------------


cdef int open_locked(Files* files, const string& path, int flags) noexcept nogil:
    cdef Node* node = files.find(path)
    cdef OpenFile opened
    cdef int outcome
    if node == NULL:
        if not flags & O_CREAT:
            outcome = files.check_parent(path)
            return outcome if outcome == -ENOTDIR else -ENOENT
        outcome = files.check_parent(path)
        if outcome < 0:
            return outcome
        node = files.add(path, False)
    elif flags & O_CREAT and flags & O_EXCL:
        return -EEXIST
    elif node.is_directory and (flags & O_ACCMODE != O_RDONLY or flags & O_CREAT):
        return -EISDIR
    elif flags & O_TRUNC:
        node.resize(0, files.max_file_bytes)
        node.modified_ms = files.now_ms()
    node.uses += 1
    opened.node = node
    opened.flags = flags
    files.descriptors[files.next_descriptor] = opened
    files.next_descriptor += 1
    return files.next_descriptor - 1


cdef int close_locked(Files* files, int descriptor) noexcept nogil:
    cdef Node* node = files.opened(descriptor)
    if node == NULL:
        return -EBADF
    if node.lock_holder == descriptor:
        node.lock_holder = -1
    files.descriptors.erase(descriptor)
    drop(node)
    return 0


cdef bint may(Files* files, int descriptor, int refused_mode) noexcept nogil:
    return files.descriptors[descriptor].flags & O_ACCMODE != refused_mode


cdef int64_t pread_locked(Files* files, int descriptor, void* buffer, size_t size, int64_t position) noexcept nogil:
    cdef Node* node = files.opened(descriptor)
    cdef size_t count
    if node == NULL or not may(files, descriptor, O_WRONLY):
        return -EBADF
    if node.is_directory:
        return -EISDIR
    if position < 0:
        return -EINVAL
    if position >= node.size:
        return 0
    count = min(size, <size_t>(node.size - position))
    memcpy(buffer, node.data + position, count)
    return <int64_t>count


cdef int64_t pwritev_locked(Files* files, int descriptor, const iovec* parts, int count,
                            int64_t position) noexcept nogil:
    cdef Node* node = files.opened(descriptor)
    cdef size_t total = 0
    cdef int64_t at = position
    cdef int i, outcome
    if node == NULL or not may(files, descriptor, O_RDONLY):
        return -EBADF
    if position < 0:
        return -EINVAL
    for i in range(count):
        total += parts[i].iov_len
    if total == 0:
        return 0
    outcome = node.make_usable(<size_t>position + total, files.max_file_bytes)
    if outcome < 0:
        return outcome
    for i in range(count):
        if parts[i].iov_len:
            memcpy(node.data + at, parts[i].iov_base, parts[i].iov_len)
            at += <int64_t>parts[i].iov_len
    node.size = max(node.size, at)
    node.modified_ms = files.now_ms()
    return <int64_t>total


cdef int resize_locked(Files* files, int descriptor, int64_t size, bint only_grow) noexcept nogil:
    cdef Node* node = files.opened(descriptor)
    if node == NULL:
        return -EBADF
    if not may(files, descriptor, O_RDONLY):
        return -EBADF if only_grow else -EINVAL
    if size < 0 or node.is_directory:
        return -EINVAL
    if only_grow and size <= node.size:
        return 0
    node.modified_ms = files.now_ms()
    return node.resize(size, files.max_file_bytes)


cdef const uint8_t* map_locked(Files* files, int descriptor, size_t size, int* error) noexcept nogil:
    cdef Node* node = files.opened(descriptor)
    if node == NULL:
        error[0] = -EBADF
        return NULL
    error[0] = -EINVAL if size == 0 else node.make_usable(size, files.max_file_bytes)
    if error[0] < 0:
        return NULL
    node.uses += 1
    files.mappings[node.data] = node
    files.mapped[node.data] += 1
    return node.data


cdef int unmap_locked(Files* files, const uint8_t* address) noexcept nogil:
    cdef ordered_map[const uint8_t*, Node*].iterator found = files.mappings.find(address)
    cdef Node* node
    if found == files.mappings.end():
        return -EINVAL
    node = dereference(found).second
    files.mapped[address] -= 1
    if files.mapped[address] == 0:
        files.mapped.erase(address)
        files.mappings.erase(found)
    drop(node)
    return 0


cdef int rename_locked(Files* files, const string& source, const string& target) noexcept nogil:
    cdef Node* node = files.find(source)
    cdef Node* replaced = files.find(target)
    cdef int outcome = -ENOENT if node == NULL else files.check_parent(target)
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
        if replaced.is_directory and files.has_entries(target):
            return -ENOTEMPTY
        files.forget(target)
    files.names.erase(source)
    files.names[target] = node
    if node.is_directory:
        move_entries(files, directory_prefix(source), directory_prefix(target))
    return 0


cdef void move_entries(Files* files, const string& source, const string& target) noexcept nogil:
    cdef vector[string] moved
    cdef ordered_map[string, Node*].iterator i = files.names.upper_bound(source)
    cdef size_t position
    cdef Node* node
    while i != files.names.end() and starts_with(dereference(i).first, source):
        moved.push_back(dereference(i).first)
        preincrement(i)
    for position in range(moved.size()):
        node = files.find(moved[position])
        files.names.erase(moved[position])
        files.names[target + moved[position].substr(source.size())] = node


cdef int remove_locked(Files* files, const string& path, bint directory) noexcept nogil:
    cdef Node* node = files.find(path)
    cdef int outcome
    if node == NULL:
        outcome = files.check_parent(path)
        return outcome if outcome == -ENOTDIR else -ENOENT
    if directory and not node.is_directory:
        return -ENOTDIR
    if not directory and node.is_directory:
        return -EISDIR
    if directory and files.has_entries(path):
        return -ENOTEMPTY
    files.forget(path)
    return 0


cdef int mkdir_locked(Files* files, const string& path) noexcept nogil:
    cdef int outcome
    if files.find(path) != NULL:
        return -EEXIST
    outcome = files.check_parent(path)
    if outcome >= 0:
        files.add(path, True)
    return outcome


cdef int list_locked(Files* files, const string& path, vector[string]* names, vector[bint]* kinds) noexcept nogil:
    cdef Node* node = files.find(path)
    cdef string prefix = directory_prefix(path)
    cdef string name
    cdef ordered_map[string, Node*].iterator i
    if node == NULL:
        return -ENOENT
    if not node.is_directory:
        return -ENOTDIR
    i = files.names.upper_bound(prefix)
    while i != files.names.end() and starts_with(dereference(i).first, prefix):
        name = dereference(i).first.substr(prefix.size())
        if strchr(name.c_str(), c"/") == NULL:
            names.push_back(name)
            kinds.push_back(dereference(i).second.is_directory)
        preincrement(i)
    return 0


cdef int flock_locked(Files* files, int descriptor, int operation) noexcept nogil:
    cdef Node* node = files.opened(descriptor)
    if node == NULL:
        return -EBADF
    if operation & LOCK_UN:
        if node.lock_holder == descriptor:
            node.lock_holder = -1
        return 0
    if node.lock_holder >= 0 and node.lock_holder != descriptor:
        return -EAGAIN
    node.lock_holder = descriptor
    return 0


cdef int sync_locked(Files* files, Node* node) noexcept nogil:
    if node == NULL:
        return -EBADF
    if files.power_is_cut:
        return -EIO
    files.file_syncs += 1
    if files.volatile_cache and not node.is_directory:
        node.synced.clear()
        if node.size > 0:
            node.synced.append(<const char*>node.data, <size_t>node.size)
    return 0


cdef void sync_names_locked(Files* files, Node* directory, const string& prefix) noexcept nogil:
    cdef ordered_map[string, Node*].iterator i = files.names.upper_bound(prefix)
    cdef ordered_map[string, Node*] names
    cdef string name
    while i != files.names.end() and starts_with(dereference(i).first, prefix):
        name = dereference(i).first.substr(prefix.size())
        if strchr(name.c_str(), c"/") == NULL:
            dereference(i).second.uses += 1
            names[name] = dereference(i).second
        preincrement(i)
    directory.forget_synced_names()
    directory.synced_names = names


cdef void restore_locked(Files* files, const string& path, Node* node, ordered_map[string, Node*]* names) noexcept nogil:
    """A directory's synced names, and theirs, with the files' synced bytes."""
    cdef ordered_map[string, Node*].iterator i
    node.uses += 1
    node.lock_holder = -1
    names[0][path] = node
    if not node.is_directory:
        node.resize(0, files.max_file_bytes)
        node.resize(<int64_t>node.synced.size(), files.max_file_bytes)
        if node.synced.size():
            memcpy(node.data, node.synced.data(), node.synced.size())
        return
    i = node.synced_names.begin()
    while i != node.synced_names.end():
        restore_locked(files, directory_prefix(path) + dereference(i).first, dereference(i).second, names)
        preincrement(i)


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


cdef int fill_stat(const Node* node, int missing, DiskStat* out) noexcept nogil:
    if node == NULL:
        return missing
    out.size_bytes = node.size
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
    outcome = fill_stat(files.find(normalized(path)), -ENOENT, out)
    if outcome == -ENOENT and files.check_parent(normalized(path)) == -ENOTDIR:
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
    outcome = rename_locked(files, normalized(source), normalized(target))
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_unlink(void* context, const char* path) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = remove_locked(files, normalized(path), False)
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
    outcome = remove_locked(files, normalized(path), True)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_readdir(void* context, const char* path, EntryVisitor visit, void* argument) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef vector[string] names
    cdef vector[bint] kinds
    cdef size_t i
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = list_locked(files, normalized(path), &names, &kinds)
    pthread_mutex_unlock(&files.lock)
    for i in range(names.size()):
        if outcome == 0:
            outcome = visit(argument, names[i].c_str(), kinds[i])
    return outcome if outcome < 0 else 0


cdef int memory_fsync_directory(void* context, const char* path) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef Node* node
    cdef int outcome = 0
    pthread_mutex_lock(&files.lock)
    node = files.find(normalized(path))
    if node == NULL:
        outcome = -ENOENT
    elif not node.is_directory:
        outcome = -ENOTDIR
    elif files.power_is_cut:
        outcome = -EIO
    elif files.volatile_cache:
        sync_names_locked(files, node, directory_prefix(normalized(path)))
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int memory_flock(void* context, int descriptor, int operation) noexcept nogil:
    cdef Files* files = <Files*>context
    cdef int outcome
    pthread_mutex_lock(&files.lock)
    outcome = flock_locked(files, descriptor, operation)
    pthread_mutex_unlock(&files.lock)
    return outcome


cdef int64_t memory_sendfile(void* context, int socket, int descriptor, int64_t position, size_t size) noexcept nogil:
    """Sends straight from the file's memory; the mapping keeps it there while no lock is held."""
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
    """A disk of its own, empty but for `/`; with `now_ms` also a clock of its own.

    `advance` moves that clock, both the wall's and the monotonic one. With `volatile_cache` it can lose power.
    """

    def __cinit__(self, now_ms=None, size_t max_file_bytes=DEFAULT_MAX_FILE_BYTES, bint volatile_cache=False):
        cdef Files* files = new Files()
        cdef DiskOperations* table = &self.operations
        files.max_file_bytes = max_file_bytes
        files.volatile_cache = volatile_cache
        files.virtual_clock = now_ms is not None
        files.clock_ns = 0 if now_ms is None else <int64_t>now_ms * 1000000
        files.add(string(b"/"), True)
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
        table.flock = memory_flock
        table.sendfile = memory_sendfile
        table.now_ms = memory_now_ms
        table.monotonic_ns = memory_monotonic_ns

    def __dealloc__(self):
        cdef Files* files = <Files*>self.operations.context
        del files

    def advance(self, int64_t milliseconds):
        """Moves the disk's own clock forward."""
        cdef Files* files = <Files*>self.operations.context
        if not files.virtual_clock or milliseconds < 0:
            raise ValueError("only a disk made with now_ms has a clock to move, and only forward")
        atomic_add_64(&files.clock_ns, milliseconds * 1000000)

    def hold_syncs(self):
        """Lets every fdatasync from now on wait for `release_syncs`."""
        cdef Files* files = <Files*>self.operations.context
        with nogil:
            pthread_mutex_lock(&files.lock)
            files.syncs_are_held = True
            pthread_mutex_unlock(&files.lock)

    def release_syncs(self):
        """Lets those that wait go on, and no other wait."""
        cdef Files* files = <Files*>self.operations.context
        with nogil:
            pthread_mutex_lock(&files.lock)
            files.syncs_are_held = False
            pthread_cond_broadcast(&files.syncs_changed)
            pthread_mutex_unlock(&files.lock)

    def wait_for_held_sync(self):
        """Returns once somebody waits in an fdatasync."""
        cdef Files* files = <Files*>self.operations.context
        with nogil:
            pthread_mutex_lock(&files.lock)
            while files.waiting_syncs == 0:
                pthread_cond_wait(&files.syncs_changed, &files.lock)
            pthread_mutex_unlock(&files.lock)

    @property
    def file_syncs(self):
        """How many fdatasyncs there were."""
        cdef Files* files = <Files*>self.operations.context
        cdef int64_t count
        with nogil:
            pthread_mutex_lock(&files.lock)
            count = files.file_syncs
            pthread_mutex_unlock(&files.lock)
        return count

    def cut_power(self):
        """From now on nothing becomes durable any more: every sync fails with EIO, those that are held too."""
        cdef Files* files = <Files*>self.operations.context
        with nogil:
            pthread_mutex_lock(&files.lock)
            files.power_is_cut = True
            files.syncs_are_held = False
            pthread_cond_broadcast(&files.syncs_changed)
            pthread_mutex_unlock(&files.lock)

    def restore_power(self):
        """What was durable is all that there is; descriptors of before are closed."""
        cdef Files* files = <Files*>self.operations.context
        cdef ordered_map[string, Node*] names
        cdef ordered_map[string, Node*].iterator name
        cdef ordered_map[int, OpenFile].iterator descriptor
        if not files.volatile_cache:
            raise ValueError("only a disk made with volatile_cache has something to lose")
        with nogil:
            pthread_mutex_lock(&files.lock)
            files.power_is_cut = False
            restore_locked(files, string(b"/"), files.find(string(b"/")), &names)
            name = files.names.begin()
            while name != files.names.end():
                drop(dereference(name).second)
                preincrement(name)
            descriptor = files.descriptors.begin()
            while descriptor != files.descriptors.end():
                drop(dereference(descriptor).second.node)
                preincrement(descriptor)
            files.descriptors.clear()
            files.names = names
            pthread_mutex_unlock(&files.lock)

    @property
    def open_descriptors(self):
        """How many descriptors are open."""
        cdef Files* files = <Files*>self.operations.context
        cdef size_t count
        with nogil:
            pthread_mutex_lock(&files.lock)
            count = files.descriptors.size()
            pthread_mutex_unlock(&files.lock)
        return count
