/* A bounded pool of (de)compression contexts, which cost more to create than a small batch to decompress.
 *
 * Concurrency: lock-free. A slot holds a context or NULL and changes owner by one atomic exchange. With all slots empty
 * the caller creates a context, with all slots full it frees one. The number of threads bounds the memory.
 */
#ifndef KCORE_RECORD_CONTEXT_POOL_H
#define KCORE_RECORD_CONTEXT_POOL_H

#include <stdbool.h>
#include <stddef.h>

#define KCORE_CONTEXT_POOL_SLOTS 8

typedef struct {
    void *slots[KCORE_CONTEXT_POOL_SLOTS];
} kcore_context_pool;

/* A pooled context, or NULL if the caller has to create one. */
static inline void *kcore_context_pool_take(kcore_context_pool *pool) {
    for (int i = 0; i < KCORE_CONTEXT_POOL_SLOTS; i++) {
        if (__atomic_load_n(&pool->slots[i], __ATOMIC_RELAXED) == NULL) continue;
        void *context = __atomic_exchange_n(&pool->slots[i], NULL, __ATOMIC_ACQUIRE);
        if (context != NULL) return context;
    }
    return NULL;
}

/* Returns false if the pool is full; the caller keeps the context. */
static inline bool kcore_context_pool_put(kcore_context_pool *pool, void *context) {
    for (int i = 0; i < KCORE_CONTEXT_POOL_SLOTS; i++) {
        void *expected = NULL;
        if (__atomic_compare_exchange_n(&pool->slots[i], &expected, context, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

#endif
