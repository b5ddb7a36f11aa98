"""A table of disk operations that wraps another one and fails by plan: at the n-th operation of a kind, from a seed.

    disk = FailingDisk(MemoryDisk(volatile_cache=True), seed=7)
    disk.fail(["pwritev"], errno.ENOSPC, path="*.log", at=3, short=True)
    disk.crash_at(40)

A rule has operations, a path pattern (fnmatch(3); an operation on a descriptor has the path that it was opened with),
which of the matching operations fail, and their errno. A short write writes a part before it fails. A short read
returns fewer bytes than available. At a crash, chance decides whether the current change happens; a write may happen in
part. Afterwards everything fails with EIO until `heal`, as on a machine that stopped. The inner disk decides what it
then contains (`MemoryDisk.restore_power`).

Changes are the operations between which a crash can happen: writes, syncs, and everything that creates, renames or
removes a name. Closing and unmapping never fail, so that nothing leaks. The clocks are those of the inner disk.

Concurrency: one lock guards the plan; nothing else is called under it. With several threads the order of changes is not
deterministic.
"""

cimport cython

from os import fsencode

from libc.errno cimport EIO
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp.map cimport map as ordered_map
from libcpp.string cimport string
from libcpp.vector cimport vector
from posix.fcntl cimport O_CREAT, O_TRUNC
from kcore.platform.chance cimport chance_below
from kcore.platform.disk cimport Disk, DiskOperations, DiskStat, EntryVisitor, iovec
from kcore.platform.sync cimport (
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock,
)

cdef extern from "<fnmatch.h>" nogil:
    int fnmatch(const char* pattern, const char* path, int flags)

cdef enum Operation:
    OPEN
    CREATE                       # an open that may create or truncate a file
    FSTAT
    STAT
    PREAD
    PWRITEV
    FALLOCATE
    FTRUNCATE
    FDATASYNC
    MMAP
    RENAME
    UNLINK
    MKDIR
    RMDIR
    READDIR
    FSYNC_DIRECTORY
    LOCK
    SENDFILE

OPERATIONS = (
    "open", "create", "fstat", "stat", "pread", "pwritev", "fallocate", "ftruncate", "fdatasync", "mmap", "rename",
    "unlink", "mkdir", "rmdir", "readdir", "fsync_directory", "lock", "sendfile",
)
CHANGES = (
    "create", "pwritev", "fallocate", "ftruncate", "fdatasync", "rename", "unlink", "mkdir", "rmdir", "fsync_directory",
)

cdef enum:
    EVERY_TIME = -1
    MILLION = 1000000
    CHANGE_MASK = (1 << CREATE | 1 << PWRITEV | 1 << FALLOCATE | 1 << FTRUNCATE | 1 << FDATASYNC | 1 << RENAME
                   | 1 << UNLINK | 1 << MKDIR | 1 << RMDIR | 1 << FSYNC_DIRECTORY)
    REMEMBERED_CHANGES = 64


cdef cppclass Rule:
    uint32_t operations          # a bit mask
    string pattern
    int64_t left_out             # matching operations to let through first
    int64_t times                # how many fail then, or EVERY_TIME
    uint64_t chance_per_million
    int error                    # negated errno
    bint is_short
    bint is_done


cdef struct Verdict:
    int error                    # negated errno; 0 for success
    bint is_done                 # the operation is carried out all the same
    bint is_short                # it is carried out in part, if possible


cdef cppclass Plan:
    pthread_mutex_t lock
    const DiskOperations* inner
    vector[Rule] rules
    ordered_map[int, string] paths           # of open descriptors
    uint64_t chance
    int64_t changes
    int64_t crashing_change      # 0 for none
    int64_t injected
    bint has_crashed
    vector[int] recent_operations            # a ring of the last changes
    vector[string] recent_paths

    __init__() nogil:
        pthread_mutex_init(&this.lock, NULL)
        this.changes = this.crashing_change = this.injected = 0
        this.has_crashed = False

    __dealloc__() nogil:
        pthread_mutex_destroy(&this.lock)

    void remember(int operation, const char* path) noexcept nogil:
        cdef size_t slot = <size_t>(this.changes % REMEMBERED_CHANGES)
        if this.recent_operations.size() < REMEMBERED_CHANGES:
            this.recent_operations.resize(REMEMBERED_CHANGES)
            this.recent_paths.resize(REMEMBERED_CHANGES)
        this.recent_operations[slot] = operation
        this.recent_paths[slot].assign(path)
        this.changes += 1

    bint is_met(Rule* rule, int operation, const char* path, const char* target) noexcept nogil:
        if not rule.operations >> operation & 1 or rule.times == 0:
            return False
        if (fnmatch(rule.pattern.c_str(), path, 0) != 0
                and (target == NULL or fnmatch(rule.pattern.c_str(), target, 0) != 0)):
            return False
        if rule.left_out > 0:
            rule.left_out -= 1
            return False
        if rule.chance_per_million < MILLION and chance_below(&this.chance, MILLION) >= rule.chance_per_million:
            return False
        if rule.times > 0:
            rule.times -= 1
        return True

    Verdict judge_locked(int operation, const char* path, const char* target) noexcept nogil:
        cdef Verdict verdict
        cdef size_t i
        verdict.error = 0
        verdict.is_done = verdict.is_short = False
        if this.has_crashed:
            verdict.error = -EIO
            return verdict
        if CHANGE_MASK >> operation & 1:
            this.remember(operation, path)
            if this.changes == this.crashing_change:
                this.has_crashed = True
                verdict.error = -EIO
                verdict.is_short = operation == PWRITEV and chance_below(&this.chance, 2)
                verdict.is_done = verdict.is_short or chance_below(&this.chance, 2)
                return verdict
        for i in range(this.rules.size()):
            if this.is_met(&this.rules[i], operation, path, target):
                this.injected += 1
                verdict.error = this.rules[i].error
                verdict.is_short = this.rules[i].is_short
                verdict.is_done = this.rules[i].is_done or verdict.is_short
                return verdict
        return verdict

    Verdict judge(int operation, const char* path, const char* target) noexcept nogil:
        cdef Verdict verdict
        pthread_mutex_lock(&this.lock)
        verdict = this.judge_locked(operation, path, target)
        pthread_mutex_unlock(&this.lock)
        return verdict

    Verdict judge_open_file(int operation, int descriptor) noexcept nogil:
        cdef Verdict verdict
        pthread_mutex_lock(&this.lock)
        verdict = this.judge_locked(operation, this.paths[descriptor].c_str(), NULL)
        pthread_mutex_unlock(&this.lock)
        return verdict

    size_t part_of(size_t size) noexcept nogil:
        """A random size smaller than the whole."""
        cdef size_t part
        pthread_mutex_lock(&this.lock)
        part = <size_t>chance_below(&this.chance, size)
        pthread_mutex_unlock(&this.lock)
        return part


cdef inline int outcome_of(Verdict verdict, int outcome) noexcept nogil:
    """The result of an operation that was carried out, although its caller may get an error."""
    return verdict.error if verdict.error else outcome


# --- the table --------------------------------------------------------------------------------------------------------


cdef int failing_open(void* context, const char* path, int flags, int mode) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge(CREATE if flags & (O_CREAT | O_TRUNC) else OPEN, path, NULL)
    cdef int descriptor
    if verdict.error and not verdict.is_done:
        return verdict.error
    descriptor = plan.inner.open(plan.inner.context, path, flags, mode)
    if descriptor < 0:
        return outcome_of(verdict, descriptor)
    if verdict.error:
        plan.inner.close(plan.inner.context, descriptor)
        return verdict.error
    pthread_mutex_lock(&plan.lock)
    plan.paths[descriptor] = string(path)
    pthread_mutex_unlock(&plan.lock)
    return descriptor


cdef int failing_close(void* context, int descriptor) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    pthread_mutex_lock(&plan.lock)
    plan.paths.erase(descriptor)
    pthread_mutex_unlock(&plan.lock)
    return plan.inner.close(plan.inner.context, descriptor)


cdef int failing_fstat(void* context, int descriptor, DiskStat* out) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge_open_file(FSTAT, descriptor)
    return verdict.error if verdict.error else plan.inner.fstat(plan.inner.context, descriptor, out)


cdef int failing_stat(void* context, const char* path, DiskStat* out) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge(STAT, path, NULL)
    return verdict.error if verdict.error else plan.inner.stat(plan.inner.context, path, out)


cdef int64_t failing_pread(void* context, int descriptor, void* buffer, size_t size, int64_t position) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge_open_file(PREAD, descriptor)
    if verdict.is_short:
        size = plan.part_of(size)
    elif verdict.error:
        return verdict.error
    return plan.inner.pread(plan.inner.context, descriptor, buffer, size, position)


cdef void write_part(Plan* plan, int descriptor, const iovec* parts, int count, int64_t position) noexcept nogil:
    cdef size_t total = 0, left
    cdef iovec piece
    cdef int i
    for i in range(count):
        total += parts[i].iov_len
    left = plan.part_of(total)
    for i in range(count):
        piece.iov_base = parts[i].iov_base
        piece.iov_len = min(parts[i].iov_len, left)
        if piece.iov_len:
            plan.inner.pwritev(plan.inner.context, descriptor, &piece, 1, position)
        position += <int64_t>piece.iov_len
        left -= piece.iov_len


cdef int64_t failing_pwritev(void* context, int descriptor, const iovec* parts, int count,
                             int64_t position) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge_open_file(PWRITEV, descriptor)
    cdef int64_t outcome
    if verdict.is_short:
        write_part(plan, descriptor, parts, count, position)
        return verdict.error
    if verdict.error and not verdict.is_done:
        return verdict.error
    outcome = plan.inner.pwritev(plan.inner.context, descriptor, parts, count, position)
    return verdict.error if verdict.error else outcome


cdef int failing_fallocate(void* context, int descriptor, int64_t position, int64_t size) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge_open_file(FALLOCATE, descriptor)
    if verdict.error and not verdict.is_done:
        return verdict.error
    return outcome_of(verdict, plan.inner.fallocate(plan.inner.context, descriptor, position, size))


cdef int failing_ftruncate(void* context, int descriptor, int64_t size) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge_open_file(FTRUNCATE, descriptor)
    if verdict.error and not verdict.is_done:
        return verdict.error
    return outcome_of(verdict, plan.inner.ftruncate(plan.inner.context, descriptor, size))


cdef int failing_fdatasync(void* context, int descriptor) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge_open_file(FDATASYNC, descriptor)
    if verdict.error and not verdict.is_done:
        return verdict.error
    return outcome_of(verdict, plan.inner.fdatasync(plan.inner.context, descriptor))


cdef const uint8_t* failing_mmap(void* context, int descriptor, size_t size, int* error) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge_open_file(MMAP, descriptor)
    if verdict.error:
        error[0] = verdict.error
        return NULL
    return plan.inner.mmap(plan.inner.context, descriptor, size, error)


cdef int failing_munmap(void* context, const uint8_t* address, size_t size) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    return plan.inner.munmap(plan.inner.context, address, size)


cdef int failing_rename(void* context, const char* source, const char* target) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge(RENAME, source, target)
    if verdict.error and not verdict.is_done:
        return verdict.error
    return outcome_of(verdict, plan.inner.rename(plan.inner.context, source, target))


cdef int failing_unlink(void* context, const char* path) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge(UNLINK, path, NULL)
    if verdict.error and not verdict.is_done:
        return verdict.error
    return outcome_of(verdict, plan.inner.unlink(plan.inner.context, path))


cdef int failing_mkdir(void* context, const char* path, int mode) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge(MKDIR, path, NULL)
    if verdict.error and not verdict.is_done:
        return verdict.error
    return outcome_of(verdict, plan.inner.mkdir(plan.inner.context, path, mode))


cdef int failing_rmdir(void* context, const char* path) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge(RMDIR, path, NULL)
    if verdict.error and not verdict.is_done:
        return verdict.error
    return outcome_of(verdict, plan.inner.rmdir(plan.inner.context, path))


cdef int failing_readdir(void* context, const char* path, EntryVisitor visit, void* argument) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge(READDIR, path, NULL)
    return verdict.error if verdict.error else plan.inner.readdir(plan.inner.context, path, visit, argument)


cdef int failing_fsync_directory(void* context, const char* path) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge(FSYNC_DIRECTORY, path, NULL)
    if verdict.error and not verdict.is_done:
        return verdict.error
    return outcome_of(verdict, plan.inner.fsync_directory(plan.inner.context, path))


cdef int failing_lock(void* context, int descriptor) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge_open_file(LOCK, descriptor)
    return verdict.error if verdict.error else plan.inner.lock(plan.inner.context, descriptor)


cdef int64_t failing_sendfile(void* context, int socket, int descriptor, int64_t position, size_t size) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    cdef Verdict verdict = plan.judge_open_file(SENDFILE, descriptor)
    if verdict.is_short and size:
        size = plan.part_of(size) + 1
    elif verdict.error:
        return verdict.error
    return plan.inner.sendfile(plan.inner.context, socket, descriptor, position, size)


cdef int64_t failing_now_ms(void* context) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    return plan.inner.now_ms(plan.inner.context)


cdef int64_t failing_monotonic_ns(void* context) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    return plan.inner.monotonic_ns(plan.inner.context)


cdef uint32_t mask_of(operations) except? 0:
    cdef uint32_t mask = 0
    for operation in operations:
        if operation not in OPERATIONS:
            raise ValueError(f"no operation {operation!r}; there are: {', '.join(OPERATIONS)}")
        mask |= <uint32_t>1 << <int>OPERATIONS.index(operation)
    return mask


# A thread that closes files of it at the end still needs the inner disk.
@cython.no_gc_clear
cdef class FailingDisk(Disk):
    """Wraps `inner`, which you can still use directly. Without rules and crashes it behaves in the same way."""

    cdef readonly Disk inner

    def __cinit__(self, Disk inner not None, seed=0):
        cdef Plan* plan = new Plan()
        cdef DiskOperations* table = &self.operations
        self.inner = inner
        plan.inner = &inner.operations
        plan.chance = <uint64_t>(seed & 0xFFFFFFFFFFFFFFFF)
        table.context = plan
        table.open = failing_open
        table.close = failing_close
        table.fstat = failing_fstat
        table.stat = failing_stat
        table.pread = failing_pread
        table.pwritev = failing_pwritev
        table.fallocate = failing_fallocate
        table.ftruncate = failing_ftruncate
        table.fdatasync = failing_fdatasync
        table.mmap = failing_mmap
        table.munmap = failing_munmap
        table.rename = failing_rename
        table.unlink = failing_unlink
        table.mkdir = failing_mkdir
        table.rmdir = failing_rmdir
        table.readdir = failing_readdir
        table.fsync_directory = failing_fsync_directory
        table.lock = failing_lock
        table.sendfile = failing_sendfile
        table.now_ms = failing_now_ms
        table.monotonic_ns = failing_monotonic_ns

    def __dealloc__(self):
        cdef Plan* plan = <Plan*>self.operations.context
        del plan

    def fail(self, operations, int error=EIO, *, path="*", int64_t at=1, times=1, double chance=1.0, bint short=False,
             bint done=False):
        """Adds a rule: from the `at`-th matching operation on, `times` of them fail (None: all), each with `chance`.

        `operations` are names of OPERATIONS, `error` is an errno. With `short` writes and reads are done in part first.
        With `done` a change is made, and its caller gets an error all the same.
        """
        cdef Plan* plan = <Plan*>self.operations.context
        cdef Rule rule
        if at < 1 or error <= 0 or not 0.0 <= chance <= 1.0:
            raise ValueError(f"no rule: at {at} is 1 or more, error {error} an errno, chance {chance} from 0 to 1")
        rule.operations = mask_of(operations)
        rule.pattern = <bytes>fsencode(path)
        rule.left_out = at - 1
        rule.times = EVERY_TIME if times is None else <int64_t>times
        rule.chance_per_million = <uint64_t>(chance * MILLION)
        rule.error = -error
        rule.is_short = short
        rule.is_done = done
        with nogil:
            pthread_mutex_lock(&plan.lock)
            plan.rules.push_back(rule)
            pthread_mutex_unlock(&plan.lock)

    def crash_at(self, int64_t change):
        """Crashes at the `change`-th change from now, counted from 1."""
        cdef Plan* plan = <Plan*>self.operations.context
        if change < 1:
            raise ValueError(f"changes are counted from 1, not {change}")
        with nogil:
            pthread_mutex_lock(&plan.lock)
            plan.crashing_change = plan.changes + change
            pthread_mutex_unlock(&plan.lock)

    def crash(self):
        """Crashes now."""
        cdef Plan* plan = <Plan*>self.operations.context
        with nogil:
            pthread_mutex_lock(&plan.lock)
            plan.has_crashed = True
            pthread_mutex_unlock(&plan.lock)

    def heal(self):
        """Removes every rule and ends a crash."""
        cdef Plan* plan = <Plan*>self.operations.context
        with nogil:
            pthread_mutex_lock(&plan.lock)
            plan.rules.clear()
            plan.crashing_change = 0
            plan.has_crashed = False
            pthread_mutex_unlock(&plan.lock)

    @property
    def has_crashed(self):
        """Whether everything fails because of a crash."""
        return bool((<Plan*>self.operations.context).has_crashed)

    @property
    def changes(self):
        """The number of changes requested so far, including the one at a crash."""
        return (<Plan*>self.operations.context).changes

    @property
    def injected(self):
        """The number of operations that rules made fail so far."""
        return (<Plan*>self.operations.context).injected

    def recent_changes(self):
        """`(operation, path)` of the last changes, oldest first, for reports of faults."""
        cdef Plan* plan = <Plan*>self.operations.context
        cdef vector[int] operations
        cdef vector[string] paths
        cdef int64_t changes, change
        cdef bytes path
        with nogil:
            pthread_mutex_lock(&plan.lock)
            operations = plan.recent_operations
            paths = plan.recent_paths
            changes = plan.changes
            pthread_mutex_unlock(&plan.lock)
        found = []
        for change in range(max(0, changes - REMEMBERED_CHANGES), changes):
            path = paths[<size_t>(change % REMEMBERED_CHANGES)]
            found.append((OPERATIONS[operations[<size_t>(change % REMEMBERED_CHANGES)]], path.decode(errors="replace")))
        return found

    def space(self, path):
        """The space of the inner disk."""
        return self.inner.space(path)
