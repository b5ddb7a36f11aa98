/* Atomic reads and writes of plain integers, so that Cython structs shared between modules can hold them. */
#ifndef KCORE_PLATFORM_ATOMICS_H
#define KCORE_PLATFORM_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

static inline int32_t kcore_atomic_add_32(int32_t *target, int32_t delta) {
    return __atomic_add_fetch(target, delta, __ATOMIC_SEQ_CST);
}

static inline int32_t kcore_atomic_load_32(const int32_t *source) {
    return __atomic_load_n(source, __ATOMIC_ACQUIRE);
}

static inline void kcore_atomic_store_32(int32_t *target, int32_t value) {
    __atomic_store_n(target, value, __ATOMIC_RELEASE);
}

static inline bool kcore_atomic_swap_32_if(int32_t *target, int32_t expected, int32_t desired) {
    return __atomic_compare_exchange_n(target, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline int64_t kcore_atomic_add_64(int64_t *target, int64_t delta) {
    return __atomic_add_fetch(target, delta, __ATOMIC_SEQ_CST);
}

static inline int64_t kcore_atomic_load_64(const int64_t *source) {
    return __atomic_load_n(source, __ATOMIC_ACQUIRE);
}

static inline void kcore_atomic_store_64(int64_t *target, int64_t value) {
    __atomic_store_n(target, value, __ATOMIC_RELEASE);
}

#endif
