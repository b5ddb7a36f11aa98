"""The table of disk operations and clocks. All storage goes through it.

Every operation runs without the GIL, raises nothing and returns a value >= 0 or a negated errno. Storage calls no `os`
function, so the real, the in-memory and the failing table can replace each other without a change in the code.
"""

from libc.stdint cimport int64_t, uint8_t

cdef extern from "<sys/uio.h>" nogil:
    struct iovec:
        void* iov_base
        size_t iov_len

# Only the user that runs the broker may read its files. Existing files keep their mode.
cdef enum:
    FILE_MODE = 0o600
    DIRECTORY_MODE = 0o700

cdef struct DiskStat:
    int64_t size_bytes
    int64_t modified_ms
    bint is_directory

# Called once per directory entry, except "." and "..". A non-zero result ends the listing.
ctypedef int (*EntryVisitor)(void* argument, const char* name, bint is_directory) noexcept nogil

cdef struct DiskOperations:
    void* context
    # `flags` are open(2)'s; the real table adds O_CLOEXEC.
    int (*open)(void* context, const char* path, int flags, int mode) noexcept nogil
    int (*close)(void* context, int descriptor) noexcept nogil
    int (*fstat)(void* context, int descriptor, DiskStat* out) noexcept nogil
    int (*stat)(void* context, const char* path, DiskStat* out) noexcept nogil
    # Reads until `size` bytes or the end of the file. Returns the bytes read.
    int64_t (*pread)(void* context, int descriptor, void* buffer, size_t size, int64_t position) noexcept nogil
    # Writes everything or fails; continues short writes. Returns the bytes written.
    int64_t (*pwritev)(void* context, int descriptor, const iovec* parts, int count, int64_t position) noexcept nogil
    int (*fallocate)(void* context, int descriptor, int64_t position, int64_t size) noexcept nogil
    int (*ftruncate)(void* context, int descriptor, int64_t size) noexcept nogil
    int (*fdatasync)(void* context, int descriptor) noexcept nogil
    # Maps the first `size` bytes read-only and shared. On failure returns NULL and sets *error = -errno.
    const uint8_t* (*mmap)(void* context, int descriptor, size_t size, int* error) noexcept nogil
    int (*munmap)(void* context, const uint8_t* address, size_t size) noexcept nogil
    int (*rename)(void* context, const char* source, const char* target) noexcept nogil
    int (*unlink)(void* context, const char* path) noexcept nogil
    int (*mkdir)(void* context, const char* path, int mode) noexcept nogil
    int (*rmdir)(void* context, const char* path) noexcept nogil
    int (*readdir)(void* context, const char* path, EntryVisitor visit, void* argument) noexcept nogil
    int (*fsync_directory)(void* context, const char* path) noexcept nogil
    # Locks the file for this descriptor until it is closed. -EAGAIN if another descriptor or process has the lock.
    int (*lock)(void* context, int descriptor) noexcept nogil
    # sendfile(2) of at most `size` bytes from `position`. Returns the bytes sent, or -EAGAIN.
    int64_t (*sendfile)(void* context, int socket, int descriptor, int64_t position, size_t size) noexcept nogil
    # Wall clock in milliseconds since 1970, and a monotonic clock in nanoseconds.
    int64_t (*now_ms)(void* context) noexcept nogil
    int64_t (*monotonic_ns)(void* context) noexcept nogil


cdef class Disk:
    """The Python interface of one table. Subclasses fill `operations`, which is valid as long as the object lives."""
    cdef DiskOperations operations
    # Raises the OSError of a negated errno. Returns a value >= 0 unchanged.
    cdef int64_t check(self, int64_t outcome, path) except -1
    cdef int stat_into(self, path, DiskStat* out)


# Reads a whole file into a malloc'ed buffer (`*out`; release it with free()). Returns the bytes read or a negated
# errno.
cdef int64_t read_whole_file(const DiskOperations* disk, const char* path, uint8_t** out) noexcept nogil
# Syncs the directory that contains `path`. Overwrites the bytes of `path`.
cdef int sync_parent(const DiskOperations* disk, char* path) noexcept nogil
# Temporary file, fdatasync, rename, directory fsync: after a crash the file has either its old or its new content.
cdef int write_file_atomically(const DiskOperations* disk, const char* path, const void* data,
                               size_t size) noexcept nogil
