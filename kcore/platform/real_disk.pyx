"""The table of disk operations with Linux system calls.

Descriptors are the kernel's, opened with O_CLOEXEC. Interrupted calls are repeated, and short reads and writes are
continued, so callers get complete results or a negated errno. Durability is that of the kernel: bytes are safe after
`fdatasync`, names after `fsync_directory`. A file lock works against every process, and against other descriptors of
the file in this process.
"""

from os import fsencode, uname

from libc.errno cimport EACCES, EAGAIN, EINTR, EIO, errno
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset
from posix.fcntl cimport O_RDONLY
from kcore.platform.disk cimport Disk, DiskOperations, DiskStat, EntryVisitor, iovec
from kcore.platform.sync cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec

cdef extern from "<sys/types.h>" nogil:
    ctypedef long off_t
    ctypedef unsigned int mode_t

cdef extern from "<fcntl.h>" nogil:
    enum:
        O_CLOEXEC
        O_DIRECTORY
        F_OFD_SETLK
        F_WRLCK
    struct flock_t "flock":
        short l_type
        short l_whence
        off_t l_start
        off_t l_len
        int l_pid
    int c_fcntl "fcntl"(int descriptor, int command, flock_t* lock)
    int posix_fallocate(int descriptor, off_t position, off_t size)
    int c_open "open"(const char* path, int flags, mode_t mode)

cdef extern from "<unistd.h>" nogil:
    int c_close "close"(int descriptor)
    ssize_t c_pread "pread"(int descriptor, void* buffer, size_t size, off_t position)
    int c_ftruncate "ftruncate"(int descriptor, off_t size)
    int c_fdatasync "fdatasync"(int descriptor)
    int c_fsync "fsync"(int descriptor)
    int c_syncfs "syncfs"(int descriptor)
    int c_unlink "unlink"(const char* path)
    int c_rmdir "rmdir"(const char* path)

cdef extern from "<sys/uio.h>" nogil:
    ssize_t c_pwritev "pwritev"(int descriptor, const iovec* parts, int count, off_t position)

cdef extern from "<sys/stat.h>" nogil:
    struct stat_t "stat":
        off_t st_size
        mode_t st_mode
        timespec st_mtim
    int c_fstat "fstat"(int descriptor, stat_t* out)
    int c_stat "stat"(const char* path, stat_t* out)
    int c_mkdir "mkdir"(const char* path, mode_t mode)
    bint S_ISDIR(mode_t mode)

cdef extern from "<stdio.h>" nogil:
    int c_rename "rename"(const char* source, const char* target)

cdef extern from "<sys/mman.h>" nogil:
    enum:
        PROT_READ
        MAP_SHARED
    void* MAP_FAILED
    void* c_mmap "mmap"(void* address, size_t size, int protection, int flags, int descriptor, off_t position)
    int c_munmap "munmap"(void* address, size_t size)

cdef extern from "<dirent.h>" nogil:
    ctypedef struct DIR:
        pass
    struct dirent:
        char* d_name
        unsigned char d_type
    enum:
        DT_DIR
        DT_UNKNOWN
        DT_LNK
    DIR* opendir(const char* path)
    dirent* c_readdir "readdir"(DIR* directory)
    int closedir(DIR* directory)
    int dirfd(DIR* directory)
    int fstatat(int descriptor, const char* path, stat_t* out, int flags)

cdef extern from "<sys/statvfs.h>" nogil:
    struct statvfs_t "statvfs":
        uint64_t f_frsize
        uint64_t f_blocks
        uint64_t f_bavail
    int c_statvfs "statvfs"(const char* path, statvfs_t* out)

cdef extern from "<sys/file.h>" nogil:
    enum:
        LOCK_EX
        LOCK_NB
    int c_flock "flock"(int descriptor, int operation)

cdef extern from "<sys/sendfile.h>" nogil:
    ssize_t c_sendfile "sendfile"(int socket, int descriptor, off_t* position, size_t size)


cdef int real_open(void* context, const char* path, int flags, int mode) noexcept nogil:
    cdef int descriptor
    while True:
        descriptor = c_open(path, flags | O_CLOEXEC, <mode_t>mode)
        if descriptor >= 0:
            return descriptor
        if errno != EINTR:
            return -errno


cdef int real_close(void* context, int descriptor) noexcept nogil:
    # Linux frees the descriptor even if close(2) is interrupted, so a second call could close another thread's file.
    if c_close(descriptor) == 0 or errno == EINTR:
        return 0
    return -errno


cdef void fill_stat(const stat_t* found, DiskStat* out) noexcept nogil:
    out.size_bytes = found.st_size
    out.modified_ms = <int64_t>found.st_mtim.tv_sec * 1000 + found.st_mtim.tv_nsec // 1000000
    out.is_directory = S_ISDIR(found.st_mode)


cdef int real_fstat(void* context, int descriptor, DiskStat* out) noexcept nogil:
    cdef stat_t found
    if c_fstat(descriptor, &found) != 0:
        return -errno
    fill_stat(&found, out)
    return 0


cdef int real_stat(void* context, const char* path, DiskStat* out) noexcept nogil:
    cdef stat_t found
    if c_stat(path, &found) != 0:
        return -errno
    fill_stat(&found, out)
    return 0


cdef int64_t real_pread(void* context, int descriptor, void* buffer, size_t size, int64_t position) noexcept nogil:
    cdef size_t done = 0
    cdef ssize_t count
    while done < size:
        count = c_pread(descriptor, <uint8_t*>buffer + done, size - done, position + <int64_t>done)
        if count == 0:
            break
        if count < 0:
            if errno == EINTR:
                continue
            return -errno
        done += <size_t>count
    return <int64_t>done


cdef int64_t write_rest(int descriptor, const iovec* parts, int count, int64_t position,
                        size_t written) noexcept nogil:
    """Continues after a short write of `written` bytes, part by part."""
    cdef int64_t end = position
    cdef size_t skipped = written
    cdef iovec part
    cdef ssize_t outcome
    cdef int i
    for i in range(count):
        if skipped >= parts[i].iov_len:
            skipped -= parts[i].iov_len
            end += <int64_t>parts[i].iov_len
            continue
        part.iov_base = <uint8_t*>parts[i].iov_base + skipped
        part.iov_len = parts[i].iov_len - skipped
        end += <int64_t>skipped
        skipped = 0
        while part.iov_len > 0:
            outcome = c_pwritev(descriptor, &part, 1, end)
            if outcome < 0:
                if errno == EINTR:
                    continue
                return -errno
            if outcome == 0:
                return -EIO
            part.iov_base = <uint8_t*>part.iov_base + outcome
            part.iov_len -= <size_t>outcome
            end += outcome
    return end - position


cdef int64_t real_pwritev(void* context, int descriptor, const iovec* parts, int count,
                          int64_t position) noexcept nogil:
    cdef size_t total = 0
    cdef ssize_t outcome
    cdef int i
    for i in range(count):
        total += parts[i].iov_len
    if total == 0:
        return 0
    while True:
        outcome = c_pwritev(descriptor, parts, count, position)
        if outcome >= 0:
            break
        if errno != EINTR:
            return -errno
    if <size_t>outcome == total:
        return outcome
    return write_rest(descriptor, parts, count, position, <size_t>outcome)


cdef int real_fallocate(void* context, int descriptor, int64_t position, int64_t size) noexcept nogil:
    cdef int outcome
    while True:
        outcome = posix_fallocate(descriptor, position, size)
        if outcome != EINTR:
            return -outcome


cdef int real_ftruncate(void* context, int descriptor, int64_t size) noexcept nogil:
    while c_ftruncate(descriptor, size) != 0:
        if errno != EINTR:
            return -errno
    return 0


cdef int real_fdatasync(void* context, int descriptor) noexcept nogil:
    while c_fdatasync(descriptor) != 0:
        if errno != EINTR:
            return -errno
    return 0


cdef const uint8_t* real_mmap(void* context, int descriptor, size_t size, int* error) noexcept nogil:
    cdef void* address = c_mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0)
    if address == MAP_FAILED:
        error[0] = -errno
        return NULL
    return <const uint8_t*>address


cdef int real_munmap(void* context, const uint8_t* address, size_t size) noexcept nogil:
    return 0 if c_munmap(<void*>address, size) == 0 else -errno


cdef int real_rename(void* context, const char* source, const char* target) noexcept nogil:
    return 0 if c_rename(source, target) == 0 else -errno


cdef int real_unlink(void* context, const char* path) noexcept nogil:
    return 0 if c_unlink(path) == 0 else -errno


cdef int real_mkdir(void* context, const char* path, int mode) noexcept nogil:
    return 0 if c_mkdir(path, <mode_t>mode) == 0 else -errno


cdef int real_rmdir(void* context, const char* path) noexcept nogil:
    return 0 if c_rmdir(path) == 0 else -errno


cdef bint names_directory(DIR* directory, const dirent* entry) noexcept nogil:
    cdef stat_t found
    if entry.d_type != DT_UNKNOWN and entry.d_type != DT_LNK:
        return entry.d_type == DT_DIR
    return fstatat(dirfd(directory), entry.d_name, &found, 0) == 0 and S_ISDIR(found.st_mode)


cdef int real_readdir(void* context, const char* path, EntryVisitor visit, void* argument) noexcept nogil:
    cdef dirent* entry
    cdef int outcome = 0
    cdef DIR* directory = opendir(path)
    if directory == NULL:
        return -errno
    while outcome == 0:
        errno_reset()
        entry = c_readdir(directory)
        if entry == NULL:
            outcome = -errno
            break
        if entry.d_name[0] == c"." and (entry.d_name[1] == 0 or (entry.d_name[1] == c"." and entry.d_name[2] == 0)):
            continue
        outcome = visit(argument, entry.d_name, names_directory(directory, entry))
    closedir(directory)
    return outcome if outcome < 0 else 0


cdef void errno_reset() noexcept nogil:
    global errno
    errno = 0


cdef int real_fsync_directory(void* context, const char* path) noexcept nogil:
    cdef int outcome = 0
    cdef int descriptor = real_open(context, path, O_RDONLY | O_DIRECTORY, 0)
    if descriptor < 0:
        return descriptor
    while c_fsync(descriptor) != 0:
        if errno != EINTR:
            outcome = -errno
            break
    real_close(context, descriptor)
    return outcome


cdef int real_lock(void* context, int descriptor) noexcept nogil:
    """Excludes every broker: flock(2) for older versions of this one, a record lock for Java's `FileChannel.tryLock`.

    For the kernel these are different locks, which do not see each other. The record lock belongs to the open file
    description (F_OFD_SETLK). It conflicts with Java's locks, which belong to a process. Unlike those it is not lost
    when other code in the process closes the same file, and two locks in one process exclude each other.
    """
    cdef flock_t whole_file
    while c_flock(descriptor, LOCK_EX | LOCK_NB) != 0:
        if errno != EINTR:
            return -errno
    memset(&whole_file, 0, sizeof(whole_file))
    whole_file.l_type = F_WRLCK
    while c_fcntl(descriptor, F_OFD_SETLK, &whole_file) != 0:
        if errno == EACCES:
            return -EAGAIN
        if errno != EINTR:
            return -errno
    return 0


cdef int64_t real_sendfile(void* context, int socket, int descriptor, int64_t position, size_t size) noexcept nogil:
    cdef off_t start
    cdef ssize_t outcome
    while True:
        start = position
        outcome = c_sendfile(socket, descriptor, &start, size)
        if outcome >= 0:
            return outcome
        if errno != EINTR:
            return -errno


cdef int64_t real_now_ms(void* context) noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1000000


cdef int64_t real_monotonic_ns(void* context) noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1000000000 + now.tv_nsec


cdef int no_sync(void* context, int descriptor) noexcept nogil:
    return 0


cdef int no_directory_sync(void* context, const char* path) noexcept nogil:
    return 0


cdef class RealDisk(Disk):
    """The machine's own files and clocks."""

    def __cinit__(self):
        cdef DiskOperations* table = &self.operations
        table.context = NULL
        table.open = real_open
        table.close = real_close
        table.fstat = real_fstat
        table.stat = real_stat
        table.pread = real_pread
        table.pwritev = real_pwritev
        table.fallocate = real_fallocate
        table.ftruncate = real_ftruncate
        table.fdatasync = real_fdatasync
        table.mmap = real_mmap
        table.munmap = real_munmap
        table.rename = real_rename
        table.unlink = real_unlink
        table.mkdir = real_mkdir
        table.rmdir = real_rmdir
        table.readdir = real_readdir
        table.fsync_directory = real_fsync_directory
        table.lock = real_lock
        table.sendfile = real_sendfile
        table.now_ms = real_now_ms
        table.monotonic_ns = real_monotonic_ns

    def defer_syncs(self):
        """sync_deferred uses syncfs(2), which reports write errors since Linux 5.8. Older kernels sync each file."""
        release = uname().release.split(".")
        if not (release[0].isdigit() and release[1].isdigit()) or (int(release[0]), int(release[1])) < (5, 8):
            return False
        self.operations.fdatasync = no_sync
        self.operations.fsync_directory = no_directory_sync
        return True

    def sync_deferred(self, path):
        """Calls syncfs(2)."""
        cdef int descriptor = self.open(path)
        cdef int outcome
        try:
            with nogil:
                outcome = 0 if c_syncfs(descriptor) == 0 else -errno
            self.check(outcome, path)
        finally:
            self.close(descriptor)

    def end_deferral(self):
        """Makes syncs work again."""
        self.operations.fdatasync = real_fdatasync
        self.operations.fsync_directory = real_fsync_directory

    def space(self, path):
        """Total and free bytes from statvfs(2). Free is what an unprivileged process may use."""
        cdef bytes name = fsencode(path)
        cdef const char* raw = name
        cdef statvfs_t found
        cdef int outcome
        with nogil:
            outcome = c_statvfs(raw, &found)
            while outcome != 0 and errno == EINTR:
                outcome = c_statvfs(raw, &found)
            outcome = 0 if outcome == 0 else -errno
        self.check(outcome, path)
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
