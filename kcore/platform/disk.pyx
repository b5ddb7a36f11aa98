"""The Python interface of a table of disk operations, and file operations that combine several of them.

Every method calls the table with the GIL released, and raises an OSError with errno and path. Crash policy: after a
crash a file written by `write_file_atomically` has either its old or its new content. The name `<path>.tmp` is reserved
for it; a file that a crash left there is overwritten.
"""

from os import fsdecode, fsencode, strerror

from libc.errno cimport EIO, ENOENT, ENOMEM
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, strlen, strrchr
from posix.fcntl cimport O_CREAT, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY

cdef enum:
    COPY_CHUNK_BYTES = 1 << 20


cdef int64_t read_whole_file(const DiskOperations* disk, const char* path, uint8_t** out) noexcept nogil:
    cdef DiskStat stat
    cdef int64_t outcome
    cdef uint8_t* buffer
    cdef int descriptor = disk.open(disk.context, path, O_RDONLY, 0)
    out[0] = NULL
    if descriptor < 0:
        return descriptor
    outcome = disk.fstat(disk.context, descriptor, &stat)
    if outcome >= 0:
        buffer = <uint8_t*>malloc(<size_t>stat.size_bytes + 1)
        if buffer == NULL:
            outcome = -ENOMEM
        else:
            outcome = disk.pread(disk.context, descriptor, buffer, <size_t>stat.size_bytes, 0)
            if outcome < 0:
                free(buffer)
            else:
                out[0] = buffer
    disk.close(disk.context, descriptor)
    return outcome


cdef int write_and_sync(const DiskOperations* disk, const char* path, const void* data, size_t size) noexcept nogil:
    cdef iovec part
    cdef int64_t outcome
    cdef int closed
    cdef int descriptor = disk.open(disk.context, path, O_WRONLY | O_CREAT | O_TRUNC, FILE_MODE)
    if descriptor < 0:
        return descriptor
    part.iov_base = <void*>data
    part.iov_len = size
    outcome = disk.pwritev(disk.context, descriptor, &part, 1, 0)
    if outcome >= 0:
        outcome = disk.fdatasync(disk.context, descriptor)
    closed = disk.close(disk.context, descriptor)
    return <int>outcome if outcome < 0 else closed


cdef int write_file_atomically(const DiskOperations* disk, const char* path, const void* data,
                               size_t size) noexcept nogil:
    cdef size_t length = strlen(path)
    cdef char* temporary = <char*>malloc(length + 5)
    cdef char* slash
    cdef int outcome
    if temporary == NULL:
        return -ENOMEM
    memcpy(temporary, path, length)
    memcpy(temporary + length, b".tmp\0", 5)
    outcome = write_and_sync(disk, temporary, data, size)
    if outcome >= 0:
        outcome = disk.rename(disk.context, temporary, path)
    if outcome < 0:
        disk.unlink(disk.context, temporary)
    else:
        outcome = sync_parent(disk, temporary)
    free(temporary)
    return outcome


cdef int sync_parent(const DiskOperations* disk, char* path) noexcept nogil:
    cdef char* slash = strrchr(path, c"/")
    if slash == NULL:
        return disk.fsync_directory(disk.context, b".")
    slash[1 if slash == path else 0] = 0
    return disk.fsync_directory(disk.context, path)


cdef struct NameList:
    char* bytes                  # name, NUL, "d" or "f", and so on
    size_t size
    size_t capacity


cdef int collect_name(void* argument, const char* name, bint is_directory) noexcept nogil:
    cdef NameList* names = <NameList*>argument
    cdef size_t length = strlen(name)
    cdef size_t needed = names.size + length + 2
    cdef size_t capacity = names.capacity
    cdef char* grown
    if needed > capacity:
        capacity = max(needed, capacity * 2, <size_t>1024)
        grown = <char*>malloc(capacity)
        if grown == NULL:
            return -ENOMEM
        if names.size:
            memcpy(grown, names.bytes, names.size)
        free(names.bytes)
        names.bytes = grown
        names.capacity = capacity
    memcpy(names.bytes + names.size, name, length + 1)
    names.bytes[names.size + length + 1] = c"d" if is_directory else c"f"
    names.size = needed
    return 0


cdef class Disk:
    """The files and clocks of one machine, for code that holds the GIL. Native code uses `operations`."""

    cdef int64_t check(self, int64_t outcome, path) except -1:
        if outcome < 0:
            raise OSError(-outcome, strerror(-outcome), path)
        return outcome

    def open(self, path, int flags=O_RDONLY, int mode=FILE_MODE):
        """Opens a file. Only the methods of this disk accept the descriptor."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef int outcome
        with nogil:
            outcome = self.operations.open(self.operations.context, raw, flags, mode)
        return self.check(outcome, path)

    def close(self, int descriptor):
        """Closes the descriptor."""
        cdef int outcome
        with nogil:
            outcome = self.operations.close(self.operations.context, descriptor)
        self.check(outcome, None)

    def pread(self, int descriptor, int64_t size, int64_t position):
        """Reads `size` bytes; fewer only at the end of the file."""
        cdef int64_t outcome
        cdef uint8_t* buffer
        if size < 0 or position < 0:
            raise ValueError(f"cannot read {size} bytes at {position}")
        buffer = <uint8_t*>malloc(<size_t>size + 1)
        if buffer == NULL:
            raise MemoryError(size)
        try:
            with nogil:
                outcome = self.operations.pread(self.operations.context, descriptor, buffer, <size_t>size, position)
            self.check(outcome, None)
            return buffer[:outcome]
        finally:
            free(buffer)

    def pwrite(self, int descriptor, data, int64_t position):
        """Writes all of `data` or raises. Returns the bytes written."""
        cdef const uint8_t[::1] view = data
        cdef iovec part
        cdef int64_t outcome
        part.iov_base = <void*>&view[0] if view.shape[0] else NULL
        part.iov_len = view.shape[0]
        with nogil:
            outcome = self.operations.pwritev(self.operations.context, descriptor, &part, 1, position)
        return self.check(outcome, None)

    def truncate(self, int descriptor, int64_t size):
        """Cuts the file, or extends it with zeros."""
        cdef int outcome
        with nogil:
            outcome = self.operations.ftruncate(self.operations.context, descriptor, size)
        self.check(outcome, None)

    def allocate(self, int descriptor, int64_t position, int64_t size):
        """Reserves the range. Extends the file with zeros if it ends before."""
        cdef int outcome
        with nogil:
            outcome = self.operations.fallocate(self.operations.context, descriptor, position, size)
        self.check(outcome, None)

    def fdatasync(self, int descriptor):
        """Syncs the file's bytes to the device."""
        cdef int outcome
        with nogil:
            outcome = self.operations.fdatasync(self.operations.context, descriptor)
        self.check(outcome, None)

    def sendfile(self, int socket, int descriptor, int64_t position, int64_t size):
        """Sends from a file to a socket of the process. Returns the bytes sent; BlockingIOError if it would block."""
        cdef int64_t outcome
        with nogil:
            outcome = self.operations.sendfile(self.operations.context, socket, descriptor, position, <size_t>size)
        return self.check(outcome, None)

    def read_mapped(self, int descriptor, int64_t size):
        """A copy of the first `size` bytes, taken through a mapping."""
        cdef int error = 0
        cdef const uint8_t* address
        cdef int outcome
        with nogil:
            address = self.operations.mmap(self.operations.context, descriptor, <size_t>size, &error)
        if address == NULL:
            self.check(error if error < 0 else -EIO, None)
        copied = (<const char*>address)[:size]
        with nogil:
            outcome = self.operations.munmap(self.operations.context, address, <size_t>size)
        self.check(outcome, None)
        return copied

    def read_file(self, path):
        """The content of a file."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef uint8_t* buffer = NULL
        cdef int64_t outcome
        with nogil:
            outcome = read_whole_file(&self.operations, raw, &buffer)
        self.check(outcome, path)
        try:
            return buffer[:outcome]
        finally:
            free(buffer)

    def write_file_atomically(self, path, data):
        """Replaces a file durably. After a crash it has either its old or its new content."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef const uint8_t[::1] view = data
        cdef size_t size = view.shape[0]
        cdef const uint8_t* start = &view[0] if size else NULL
        cdef int outcome
        with nogil:
            outcome = write_file_atomically(&self.operations, raw, start, size)
        self.check(outcome, path)

    def write_file(self, path, data):
        """Replaces a file without a sync. A crash may leave it empty or incomplete."""
        cdef int descriptor = self.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        try:
            self.pwrite(descriptor, data, 0)
        finally:
            self.close(descriptor)

    def copy_range(self, source, target, int64_t position=0):
        """Copies `source` from `position` on into a new file `target` and syncs that. Returns the bytes copied."""
        cdef int reader = self.open(source)
        cdef int writer = -1
        cdef int64_t copied = 0
        try:
            writer = self.open(target, O_WRONLY | O_CREAT | O_TRUNC)
            while True:
                chunk = self.pread(reader, COPY_CHUNK_BYTES, position + copied)
                if not chunk:
                    break
                copied += self.pwrite(writer, chunk, copied)
            self.fdatasync(writer)
        finally:
            if writer >= 0:
                self.close(writer)
            self.close(reader)
        return copied

    def entries(self, path):
        """The `(name, is_directory)` pairs of a directory, sorted by name."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef NameList names
        cdef int outcome
        cdef char* entry
        names.bytes = NULL
        names.size = names.capacity = 0
        found = []
        with nogil:
            outcome = self.operations.readdir(self.operations.context, raw, collect_name, &names)
        try:
            self.check(outcome, path)
            entry = names.bytes
            while entry < names.bytes + names.size:
                child = <bytes>entry
                found.append((fsdecode(child), entry[len(child) + 1] == c"d"))
                entry += len(child) + 2
        finally:
            free(names.bytes)
        found.sort()
        return found

    def listdir(self, path):
        """The names in a directory, sorted."""
        return [name for name, _ in self.entries(path)]

    cdef int stat_into(self, path, DiskStat* out):
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef int outcome
        with nogil:
            outcome = self.operations.stat(self.operations.context, raw, out)
        return outcome

    def exists(self, path):
        """Whether a file or directory with this name exists."""
        cdef DiskStat stat
        cdef int outcome = self.stat_into(path, &stat)
        if outcome == -ENOENT:
            return False
        self.check(outcome, path)
        return True

    def is_directory(self, path):
        """Whether a directory with this name exists."""
        cdef DiskStat stat
        cdef int outcome = self.stat_into(path, &stat)
        if outcome == -ENOENT:
            return False
        self.check(outcome, path)
        return bool(stat.is_directory)

    def size(self, path):
        """The size of the file in bytes."""
        cdef DiskStat stat
        self.check(self.stat_into(path, &stat), path)
        return stat.size_bytes

    def modified_ms(self, path):
        """When the file was last written, in milliseconds since 1970."""
        cdef DiskStat stat
        self.check(self.stat_into(path, &stat), path)
        return stat.modified_ms

    def space(self, path):
        """Total and free bytes of the volume that contains `path`; (-1, -1) for a disk without limits."""
        return -1, -1

    def mkdir(self, path, int mode=DIRECTORY_MODE):
        """Creates one directory."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef int outcome
        with nogil:
            outcome = self.operations.mkdir(self.operations.context, raw, mode)
        self.check(outcome, path)

    def mkdirs(self, path, int mode=DIRECTORY_MODE):
        """Creates a directory and its missing parents. It may exist already."""
        if self.is_directory(path):
            return
        parent = path.rstrip("/").rpartition("/")[0]
        if parent:
            self.mkdirs(parent, mode)
        try:
            self.mkdir(path, mode)
        except FileExistsError:
            if not self.is_directory(path):
                raise

    def rename(self, source, target):
        """Renames atomically and replaces a file with the name `target`."""
        cdef bytes source_name = fsencode(source)
        cdef bytes target_name = fsencode(target)
        cdef const char* raw_source = source_name
        cdef const char* raw_target = target_name
        cdef int outcome
        with nogil:
            outcome = self.operations.rename(self.operations.context, raw_source, raw_target)
        self.check(outcome, source)

    def unlink(self, path, missing_ok=False):
        """Removes a file's name."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef int outcome
        with nogil:
            outcome = self.operations.unlink(self.operations.context, raw)
        if outcome == -ENOENT and missing_ok:
            return
        self.check(outcome, path)

    def rmdir(self, path):
        """Removes an empty directory."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef int outcome
        with nogil:
            outcome = self.operations.rmdir(self.operations.context, raw)
        self.check(outcome, path)

    def fsync_dir(self, path):
        """Syncs the names in a directory to the device."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef int outcome
        with nogil:
            outcome = self.operations.fsync_directory(self.operations.context, raw)
        self.check(outcome, path)

    def defer_syncs(self):
        """Makes every sync do nothing until `end_deferral`; `sync_deferred` makes up for them. False if unsupported.

        Only for a caller that uses the disk alone and promises no durability meanwhile, such as a shutdown with
        thousands of files to sync.
        """
        return False

    def sync_deferred(self, path):
        """Syncs the whole file system of `path` to the device."""
        raise NotImplementedError

    def end_deferral(self):
        """Makes syncs work again."""

    def lock(self, path):
        """Creates and locks a file. The descriptor holds the lock until it is closed, also against this process.

        Raises BlockingIOError if another descriptor or process holds it.
        """
        cdef int descriptor = self.open(path, O_RDWR | O_CREAT)
        cdef int outcome
        with nogil:
            outcome = self.operations.lock(self.operations.context, descriptor)
        if outcome < 0:
            self.close(descriptor)
        self.check(outcome, path)
        return descriptor

    def now_ms(self):
        """The wall clock in milliseconds since 1970."""
        return self.operations.now_ms(self.operations.context)

    def monotonic_ns(self):
        """A monotonic clock in nanoseconds."""
        return self.operations.monotonic_ns(self.operations.context)
