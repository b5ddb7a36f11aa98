"""Locks and atomics for code without the GIL.

Rules: never acquire the GIL while you hold one of these locks, and release the GIL before you take one from Python
code. ARCHITECTURE.md has the lock order.
"""

from libc.stdint cimport int32_t, int64_t

cdef extern from "<time.h>" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec* out)
    enum:
        CLOCK_REALTIME
        CLOCK_MONOTONIC

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_rwlock_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef struct pthread_condattr_t:
        pass
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes)
    int pthread_mutex_destroy(pthread_mutex_t* mutex)
    int pthread_mutex_lock(pthread_mutex_t* mutex)
    int pthread_mutex_trylock(pthread_mutex_t* mutex)
    int pthread_mutex_unlock(pthread_mutex_t* mutex)
    int pthread_rwlock_init(pthread_rwlock_t* lock, void* attributes)
    int pthread_rwlock_destroy(pthread_rwlock_t* lock)
    int pthread_rwlock_rdlock(pthread_rwlock_t* lock)
    int pthread_rwlock_wrlock(pthread_rwlock_t* lock)
    int pthread_rwlock_unlock(pthread_rwlock_t* lock)
    int pthread_condattr_init(pthread_condattr_t* attributes)
    int pthread_condattr_setclock(pthread_condattr_t* attributes, int clock)
    int pthread_condattr_destroy(pthread_condattr_t* attributes)
    int pthread_cond_init(pthread_cond_t* condition, void* attributes)
    int pthread_cond_destroy(pthread_cond_t* condition)
    int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex)
    int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* deadline)
    int pthread_cond_signal(pthread_cond_t* condition)
    int pthread_cond_broadcast(pthread_cond_t* condition)

cdef extern from "atomics.h" nogil:
    # The adds are sequentially consistent and return the new value. Loads acquire, stores release.
    int32_t atomic_add_32 "kcore_atomic_add_32"(int32_t* target, int32_t delta)
    int32_t atomic_load_32 "kcore_atomic_load_32"(const int32_t* source)
    void atomic_store_32 "kcore_atomic_store_32"(int32_t* target, int32_t value)
    bint atomic_swap_32_if "kcore_atomic_swap_32_if"(int32_t* target, int32_t expected, int32_t desired)
    int64_t atomic_add_64 "kcore_atomic_add_64"(int64_t* target, int64_t delta)
    int64_t atomic_load_64 "kcore_atomic_load_64"(const int64_t* source)
    void atomic_store_64 "kcore_atomic_store_64"(int64_t* target, int64_t value)
