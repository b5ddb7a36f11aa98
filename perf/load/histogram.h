/* Latencies in nanoseconds in buckets of at most 1.6 % width (64 to each power of two), as HdrHistogram has them. */
#ifndef PERF_LOAD_HISTOGRAM_H
#define PERF_LOAD_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 64u
#define HISTOGRAM_BUCKETS (HISTOGRAM_STEPS * 42u) /* up to 2^47 ns: a day and a half */

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
    uint64_t largest;
};

static inline uint32_t histogram_bucket(uint64_t value) {
    if (value < HISTOGRAM_STEPS) return (uint32_t)value;
    uint32_t power = 63u - (uint32_t)__builtin_clzll(value); /* 6 and more */
    uint32_t step = (uint32_t)(value >> (power - 6)) - HISTOGRAM_STEPS;
    uint32_t bucket = (power - 5) * HISTOGRAM_STEPS + step;
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The largest value that falls into a bucket. */
static inline uint64_t histogram_value(uint32_t bucket) {
    if (bucket < HISTOGRAM_STEPS) return bucket;
    uint32_t power = bucket / HISTOGRAM_STEPS + 5;
    uint64_t step = bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS;
    return ((step + 1) << (power - 6)) - 1;
}

static inline void histogram_add(struct histogram *histogram, uint64_t value) {
    histogram->counts[histogram_bucket(value)]++;
    histogram->total++;
    if (value > histogram->largest) histogram->largest = value;
}

/* The value below which `share` (0 to 1) of the values lie. */
static inline uint64_t histogram_quantile(const struct histogram *histogram, double share) {
    uint64_t wanted = (uint64_t)(share * (double)histogram->total + 0.5);
    uint64_t seen = 0;
    for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->counts[bucket];
        if (seen >= wanted && seen > 0) {
            uint64_t value = histogram_value(bucket);
            return value < histogram->largest ? value : histogram->largest;
        }
    }
    return histogram->largest;
}

#endif
