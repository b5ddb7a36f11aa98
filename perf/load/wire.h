/* What the load generator and the floor share: big-endian integers, the clock, and an end with a message. */
#ifndef PERF_LOAD_WIRE_H
#define PERF_LOAD_WIRE_H

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint32_t load_32(const uint8_t *from) {
    uint32_t raw;
    memcpy(&raw, from, 4);
    return be32toh(raw);
}

static inline void store_32(uint8_t *to, uint32_t value) {
    uint32_t raw = htobe32(value);
    memcpy(to, &raw, 4);
}

static inline void store_64(uint8_t *to, uint64_t value) {
    uint64_t raw = htobe64(value);
    memcpy(to, &raw, 8);
}

static inline uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noreturn, format(printf, 1, 2))) static inline void die(const char *format, ...) {
    int error = errno;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, " (last error of the system: %s)\n", strerror(error));
    exit(1);
}

static inline void *allocate(size_t size) {
    void *memory = calloc(1, size);
    if (memory == NULL) die("no memory for %zu bytes", size);
    return memory;
}

/* The whole of a file. */
static inline uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) die("%s: cannot be opened", path);
    if (fseek(file, 0, SEEK_END) != 0) die("%s: cannot be read", path);
    long end = ftell(file);
    if (end < 0) die("%s: cannot be read", path);
    rewind(file);
    uint8_t *bytes = allocate((size_t)end + 1);
    if (fread(bytes, 1, (size_t)end, file) != (size_t)end) die("%s: cannot be read", path);
    fclose(file);
    *size = (size_t)end;
    return bytes;
}

#endif
