/* CRC-32C (Castagnoli), the checksum of record batches of magic 2 (KIP-98).
 *
 * Two implementations of one function, chosen once by kcore_crc32c_initialize: the SSE 4.2 instruction over three
 * interleaved lanes whose remainders are joined by carry-less multiplication, and slicing by eight tables where the
 * CPU has neither. Concurrency: the tables and the choice are written once, at import, before any other thread reads.
 */
#ifndef KCORE_RECORD_CRC32C_H
#define KCORE_RECORD_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define KCORE_CRC32C_X86 1
#include <immintrin.h>
#endif

/* The polynomial with its bits reversed: bit 31 of a remainder is the coefficient of x^0. */
#define KCORE_CRC32C_POLYNOMIAL 0x82F63B78u

typedef uint32_t (*kcore_crc32c_function)(uint32_t crc, const uint8_t *data, size_t size);

static uint32_t kcore_crc32c_slices[8][256];

static inline uint32_t kcore_crc32c_shift_bit(uint32_t remainder) {
    return (remainder >> 1) ^ (-(remainder & 1u) & KCORE_CRC32C_POLYNOMIAL);
}

static void kcore_crc32c_fill_slices(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t remainder = byte;
        for (int bit = 0; bit < 8; bit++) remainder = kcore_crc32c_shift_bit(remainder);
        kcore_crc32c_slices[0][byte] = remainder;
    }
    for (int slice = 1; slice < 8; slice++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t previous = kcore_crc32c_slices[slice - 1][byte];
            kcore_crc32c_slices[slice][byte] = (previous >> 8) ^ kcore_crc32c_slices[0][previous & 0xFF];
        }
    }
}

static uint32_t kcore_crc32c_software(uint32_t crc, const uint8_t *data, size_t size) {
    uint32_t remainder = ~crc;
    for (; size >= 8; data += 8, size -= 8) {
        uint32_t low = remainder ^ ((uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
                                    (uint32_t)data[3] << 24);
        remainder = kcore_crc32c_slices[7][low & 0xFF] ^ kcore_crc32c_slices[6][(low >> 8) & 0xFF] ^
                    kcore_crc32c_slices[5][(low >> 16) & 0xFF] ^ kcore_crc32c_slices[4][low >> 24] ^
                    kcore_crc32c_slices[3][data[4]] ^ kcore_crc32c_slices[2][data[5]] ^
                    kcore_crc32c_slices[1][data[6]] ^ kcore_crc32c_slices[0][data[7]];
    }
    for (; size > 0; data++, size--) {
        remainder = (remainder >> 8) ^ kcore_crc32c_slices[0][(remainder ^ *data) & 0xFF];
    }
    return ~remainder;
}

#ifdef KCORE_CRC32C_X86

/* The minimum and maximum lane, in words of 8 bytes: shorter lanes cost more to join, longer ones gain nothing. */
#define KCORE_CRC32C_LANE_WORDS_MIN 8
#define KCORE_CRC32C_LANE_WORDS_MAX 512

/* Entry n is x^(64n - 33) modulo the polynomial: the factor that moves a remainder before n more words. The missing 33
 * powers come from the joining instruction itself: 32 from crc32, one from the reversed product. */
static uint32_t kcore_crc32c_joins[2 * KCORE_CRC32C_LANE_WORDS_MAX + 1];

static void kcore_crc32c_fill_joins(void) {
    uint32_t power = 1; /* x^31 */
    for (int words = 1; words <= 2 * KCORE_CRC32C_LANE_WORDS_MAX; words++) {
        kcore_crc32c_joins[words] = power;
        for (int bit = 0; bit < 64; bit++) power = kcore_crc32c_shift_bit(power);
    }
}

static inline uint64_t kcore_crc32c_load_word(const uint8_t *data) {
    uint64_t word;
    memcpy(&word, data, 8);
    return word;
}

__attribute__((target("sse4.2,pclmul"))) static inline __m128i kcore_crc32c_advance(uint64_t remainder, size_t words) {
    return _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)remainder),
                                _mm_cvtsi32_si128((int)kcore_crc32c_joins[words]), 0x00);
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t kcore_crc32c_hardware(uint32_t crc, const uint8_t *data,
                                                                               size_t size) {
    uint64_t first = (uint32_t)~crc;
    while (size >= 3 * 8 * KCORE_CRC32C_LANE_WORDS_MIN) {
        size_t words = size / 24;
        if (words > KCORE_CRC32C_LANE_WORDS_MAX) words = KCORE_CRC32C_LANE_WORDS_MAX;
        const uint8_t *second_lane = data + 8 * words;
        const uint8_t *third_lane = second_lane + 8 * words;
        uint64_t second = 0;
        uint64_t third = 0;
        for (size_t word = 0; word < words; word++) {
            first = _mm_crc32_u64(first, kcore_crc32c_load_word(data + 8 * word));
            second = _mm_crc32_u64(second, kcore_crc32c_load_word(second_lane + 8 * word));
            third = _mm_crc32_u64(third, kcore_crc32c_load_word(third_lane + 8 * word));
        }
        __m128i joined = _mm_xor_si128(kcore_crc32c_advance(first, 2 * words), kcore_crc32c_advance(second, words));
        first = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(joined)) ^ third;
        data += 24 * words;
        size -= 24 * words;
    }
    for (; size >= 8; data += 8, size -= 8) first = _mm_crc32_u64(first, kcore_crc32c_load_word(data));
    for (; size > 0; data++, size--) first = _mm_crc32_u8((uint32_t)first, *data);
    return ~(uint32_t)first;
}

static bool kcore_crc32c_has_hardware(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

#endif

static kcore_crc32c_function kcore_crc32c_chosen = kcore_crc32c_software;

static void kcore_crc32c_initialize(void) {
    kcore_crc32c_fill_slices();
#ifdef KCORE_CRC32C_X86
    if (kcore_crc32c_has_hardware()) {
        kcore_crc32c_fill_joins();
        kcore_crc32c_chosen = kcore_crc32c_hardware;
    }
#endif
}

static inline bool kcore_crc32c_is_hardware(void) { return kcore_crc32c_chosen != kcore_crc32c_software; }

static inline uint32_t kcore_crc32c_update(uint32_t crc, const uint8_t *data, size_t size) {
    return kcore_crc32c_chosen(crc, data, size);
}

#endif
