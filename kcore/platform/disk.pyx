"""Python's face of a table of disk operations, and the two file operations made of several table calls.

Every method goes through the table, releases the GIL for the call, and raises an OSError that carries errno and path.
Crash policy: what `write_file_atomically` writes is found after a crash either as it was before or whole; the name
`<path>.tmp` belongs to it and whatever a crash left there is overwritten.
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
    """One machine's files and clocks, for code that holds the GIL; native code uses `operations`."""

    cdef int64_t check(self, int64_t outcome, path) except -1:
        if outcome < 0:
            raise OSError(-outcome, strerror(-outcome), path)
        return outcome

    def open(self, path, int flags=O_RDONLY, int mode=FILE_MODE):
        """A descriptor of this disk, which only this disk's methods understand."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef int outcome
        with nogil:
            outcome = self.operations.open(self.operations.context, raw, flags, mode)
        return self.check(outcome, path)

    def close(self, int descriptor):
        """Gives the descriptor back."""
        cdef int outcome
        with nogil:
            outcome = self.operations.close(self.operations.context, descriptor)
        self.check(outcome, None)

    def pread(self, int descriptor, int64_t size, int64_t position):
        """Up to `size` bytes; fewer only at the end of the file."""
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
        """Writes all of `data`, or raises."""
        cdef const uint8_t[::1] view = data
        cdef iovec part
        cdef int64_t outcome
        part.iov_base = <void*>&view[0] if view.shape[0] else NULL
        part.iov_len = view.shape[0]
        with nogil:
            outcome = self.operations.pwritev(self.operations.context, descriptor, &part, 1, position)
        return self.check(outcome, None)

    def truncate(self, int descriptor, int64_t size):
        """Cuts or extends (with zeros) the file."""
        cdef int outcome
        with nogil:
            outcome = self.operations.ftruncate(self.operations.context, descriptor, size)
        self.check(outcome, None)

    def allocate(self, int descriptor, int64_t position, int64_t size):
        """Reserves the range, extending the file with zeros where it ends before."""
        cdef int outcome
        with nogil:
            outcome = self.operations.fallocate(self.operations.context, descriptor, position, size)
        self.check(outcome, None)

    def fdatasync(self, int descriptor):
        """Returns once the file's bytes are on the device."""
        cdef int outcome
        with nogil:
            outcome = self.operations.fdatasync(self.operations.context, descriptor)
        self.check(outcome, None)

    def sendfile(self, int socket, int descriptor, int64_t position, int64_t size):
        """Bytes sent to a socket of the process; BlockingIOError when it takes none now."""
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
        """The whole file."""
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
        """Replaces the file so that a crash leaves the old one or the new one, whole and on the device."""
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
        """Writes a file anew; nothing is synced, and a crash may leave it empty or in part."""
        cdef int descriptor = self.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        try:
            self.pwrite(descriptor, data, 0)
        finally:
            self.close(descriptor)

    def copy_range(self, source, target, int64_t position=0):
        """Copies `source` from `position` to its end into a new file `target`, synced; returns the bytes copied."""
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
        """`(name, is_directory)` of everything in a directory, by name."""
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
        """Whether there is a file or directory of this name."""
        cdef DiskStat stat
        cdef int outcome = self.stat_into(path, &stat)
        if outcome == -ENOENT:
            return False
        self.check(outcome, path)
        return True

    def is_directory(self, path):
        """Whether there is a directory of this name."""
        cdef DiskStat stat
        cdef int outcome = self.stat_into(path, &stat)
        if outcome == -ENOENT:
            return False
        self.check(outcome, path)
        return bool(stat.is_directory)

    def size(self, path):
        """The file's length in bytes."""
        cdef DiskStat stat
        self.check(self.stat_into(path, &stat), path)
        return stat.size_bytes

    def modified_ms(self, path):
        """When the file was last written, in milliseconds since 1970."""
        cdef DiskStat stat
        self.check(self.stat_into(path, &stat), path)
        return stat.modified_ms

    def space(self, path):
        """Size and free space of the volume that a path lies on, in bytes; (-1, -1) of a disk that has no bounds."""
        return -1, -1

    def mkdir(self, path, int mode=DIRECTORY_MODE):
        """Makes one directory."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef int outcome
        with nogil:
            outcome = self.operations.mkdir(self.operations.context, raw, mode)
        self.check(outcome, path)

    def mkdirs(self, path, int mode=DIRECTORY_MODE):
        """Makes a directory and those above it that are missing; one that is there already is no error."""
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
        """Renames atomically, replacing a file that `target` names."""
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
        """Returns once the names in a directory are on the device."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef int outcome
        with nogil:
            outcome = self.operations.fsync_directory(self.operations.context, raw)
        self.check(outcome, path)

    def defer_syncs(self):
        """Lets every sync from now on do nothing, for `sync_deferred` to make up for all of them; False where it cannot.

        For whoever is alone with the disk and keeps no promise meanwhile: a stop with thousands of files to sync.
        """
        return False

    def sync_deferred(self, path):
        """Returns once everything on the file system of `path` is on the device."""
        raise NotImplementedError

    def end_deferral(self):
        """Syncs do what they say again."""

    def lock(self, path):
        """Creates and locks a file; the descriptor holds the lock, against this process too, until it is closed.

        Raises BlockingIOError when someone else holds it.
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
        """Wall clock, milliseconds since 1970."""
        return self.operations.now_ms(self.operations.context)

    def monotonic_ns(self):
        """A clock in nanoseconds that never goes back."""
        return self.operations.monotonic_ns(self.operations.context)
