/* Snappy's raw block format: reader and writer.
 *
 * A block is its uncompressed length as a varint, then elements. The low two bits of an element's tag mean literal (0)
 * or a copy with an offset of 1, 2 or 4 bytes (1, 2, 3). Source: format_description.txt of the Snappy project.
 * The reader checks every length and offset against both buffers; no input makes it read or write outside them.
 * Concurrency: pure functions.
 */
#ifndef KCORE_RECORD_SNAPPY_BLOCK_H
#define KCORE_RECORD_SNAPPY_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Matches are searched within one fragment, so that offsets fit 16 bits. */
#define KCORE_SNAPPY_FRAGMENT 65536
#define KCORE_SNAPPY_HASH_BITS 14
/* Copies with enough room are done in steps of this many bytes. */
#define KCORE_SNAPPY_STRIDE 16

/* Reads the length at the start of a block. Returns its size in bytes; 0 if it is malformed. */
static inline size_t kcore_snappy_read_length(const uint8_t *data, size_t size, uint32_t *length) {
    uint64_t value = 0;
    for (size_t i = 0; i < size && i < 5; i++) {
        value |= (uint64_t)(data[i] & 0x7F) << (7 * i);
        if (data[i] < 0x80) {
            *length = (uint32_t)value;
            return value <= UINT32_MAX ? i + 1 : 0;
        }
    }
    return 0;
}

static inline void kcore_snappy_copy_overlapping(uint8_t *target, size_t offset, size_t length) {
    const uint8_t *source = target - offset;
    for (size_t i = 0; i < length; i++) target[i] = source[i];
}

/* Decodes the elements after the length. Returns whether they give exactly `length` bytes. */
static bool kcore_snappy_decode(const uint8_t *data, size_t size, uint8_t *out, size_t length) {
    const uint8_t *end = data + size;
    uint8_t *target = out;
    uint8_t *const target_end = out + length;
    while (data < end) {
        const uint8_t tag = *data++;
        const size_t readable = (size_t)(end - data);
        const size_t writable = (size_t)(target_end - target);
        if ((tag & 3) == 0) {
            size_t count = (size_t)(tag >> 2) + 1;
            if (count <= KCORE_SNAPPY_STRIDE && readable >= KCORE_SNAPPY_STRIDE && writable >= KCORE_SNAPPY_STRIDE) {
                memcpy(target, data, KCORE_SNAPPY_STRIDE);
            } else {
                if (count > 60) {
                    const size_t extra = count - 60;
                    if (readable < extra) return false;
                    count = 0;
                    for (size_t i = 0; i < extra; i++) count |= (size_t)data[i] << (8 * i);
                    count += 1;
                    data += extra;
                }
                if ((size_t)(end - data) < count || writable < count) return false;
                memcpy(target, data, count);
            }
            data += count;
            target += count;
            continue;
        }
        size_t count;
        size_t offset;
        if ((tag & 3) == 1) {
            if (readable < 1) return false;
            count = (size_t)((tag >> 2) & 7) + 4;
            offset = (size_t)(tag >> 5) << 8 | data[0];
            data += 1;
        } else if ((tag & 3) == 2) {
            if (readable < 2) return false;
            count = (size_t)(tag >> 2) + 1;
            offset = (size_t)data[0] | (size_t)data[1] << 8;
            data += 2;
        } else {
            if (readable < 4) return false;
            count = (size_t)(tag >> 2) + 1;
            offset = (size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16 | (size_t)data[3] << 24;
            data += 4;
        }
        if (offset == 0 || offset > (size_t)(target - out) || writable < count) return false;
        if (offset >= KCORE_SNAPPY_STRIDE && writable >= 4 * KCORE_SNAPPY_STRIDE) {
            /* A copy is at most 64 bytes. Each step reads bytes a whole stride before it, which are already written. */
            for (size_t done = 0; done < count; done += KCORE_SNAPPY_STRIDE) {
                memcpy(target + done, target - offset + done, KCORE_SNAPPY_STRIDE);
            }
        } else {
            kcore_snappy_copy_overlapping(target, offset, count);
        }
        target += count;
    }
    return target == target_end;
}

/* The maximum size of the block for `size` bytes: its length, and six bytes for each sixty bytes of literals. */
static inline size_t kcore_snappy_bound(size_t size) { return 32 + size + size / 6; }

static inline uint32_t kcore_snappy_load32(const uint8_t *data) {
    uint32_t word;
    memcpy(&word, data, 4);
    return word;
}

static inline uint32_t kcore_snappy_hash(uint32_t word) {
    return (word * 0x1E35A7BDu) >> (32 - KCORE_SNAPPY_HASH_BITS);
}

static inline uint8_t *kcore_snappy_put_literal(uint8_t *out, const uint8_t *data, size_t count) {
    if (count == 0) return out;
    const size_t coded = count - 1;
    if (coded < 60) {
        *out++ = (uint8_t)(coded << 2);
    } else {
        uint8_t *tag = out++;
        unsigned extra = 0;
        for (size_t rest = coded; rest > 0; rest >>= 8, extra++) *out++ = (uint8_t)rest;
        *tag = (uint8_t)((59 + extra) << 2);
    }
    memcpy(out, data, count);
    return out + count;
}

static inline uint8_t *kcore_snappy_put_copy(uint8_t *out, size_t offset, size_t count) {
    while (count > 0) {
        /* Never leave a rest of less than four bytes, the minimum of the short form. */
        size_t part = count <= 64 ? count : (count < 68 ? 60 : 64);
        if (part >= 4 && part < 12 && offset < 2048) {
            *out++ = (uint8_t)(1 | (part - 4) << 2 | (offset >> 8) << 5);
            *out++ = (uint8_t)offset;
        } else {
            *out++ = (uint8_t)(2 | (part - 1) << 2);
            *out++ = (uint8_t)offset;
            *out++ = (uint8_t)(offset >> 8);
        }
        count -= part;
    }
    return out;
}

static inline size_t kcore_snappy_match_length(const uint8_t *left, const uint8_t *right, const uint8_t *end) {
    const uint8_t *start = right;
    while ((size_t)(end - right) >= 8) {
        uint64_t a;
        uint64_t b;
        memcpy(&a, left, 8);
        memcpy(&b, right, 8);
        if (a != b) return (size_t)(right - start) + (size_t)(__builtin_ctzll(a ^ b) >> 3);
        left += 8;
        right += 8;
    }
    while (right < end && *left == *right) left++, right++;
    return (size_t)(right - start);
}

/* Greedy matching within one fragment. The steps get longer while nothing matches. */
static uint8_t *kcore_snappy_encode_fragment(const uint8_t *data, size_t size, uint16_t *positions, uint8_t *out) {
    const uint8_t *end = data + size;
    const uint8_t *literal = data;
    if (size >= 16) {
        const uint8_t *last = end - 15;
        const uint8_t *next = data + 1;
        size_t misses = 32;
        memset(positions, 0, sizeof(uint16_t) << KCORE_SNAPPY_HASH_BITS);
        while (next < last) {
            const uint32_t word = kcore_snappy_load32(next);
            uint16_t *slot = &positions[kcore_snappy_hash(word)];
            const uint8_t *candidate = data + *slot;
            *slot = (uint16_t)(next - data);
            if (kcore_snappy_load32(candidate) != word || candidate >= next) {
                next += misses++ >> 5;
                continue;
            }
            const size_t count = 4 + kcore_snappy_match_length(candidate + 4, next + 4, end);
            out = kcore_snappy_put_literal(out, literal, (size_t)(next - literal));
            out = kcore_snappy_put_copy(out, (size_t)(next - candidate), count);
            next += count;
            literal = next;
            misses = 32;
            if (next < last) {
                positions[kcore_snappy_hash(kcore_snappy_load32(next - 1))] = (uint16_t)(next - 1 - data);
            }
        }
    }
    return kcore_snappy_put_literal(out, literal, (size_t)(end - literal));
}

/* Writes a block into `out`, with room for kcore_snappy_bound(size) bytes. `positions` has 2^KCORE_SNAPPY_HASH_BITS
 * entries. Returns the size of the block. */
static size_t kcore_snappy_encode(const uint8_t *data, uint32_t size, uint16_t *positions, uint8_t *out) {
    uint8_t *target = out;
    uint32_t rest = size;
    for (; rest >= 0x80; rest >>= 7) *target++ = (uint8_t)(rest | 0x80);
    *target++ = (uint8_t)rest;
    for (size_t done = 0; done < size; done += KCORE_SNAPPY_FRAGMENT) {
        const size_t part = size - done < KCORE_SNAPPY_FRAGMENT ? size - done : KCORE_SNAPPY_FRAGMENT;
        target = kcore_snappy_encode_fragment(data + done, part, positions, target);
    }
    return (size_t)(target - out);
}

#endif
