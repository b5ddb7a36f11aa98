/* The system's compression libraries, opened at run time. Only functions with a stable ABI are used.
 *
 * libz.so.1 (zlib 1.2 and later), libzstd.so.1 (1.4 and later), liblz4.so.1 (1.8 and later). Nothing is linked, and
 * building needs none of their headers. A library is opened on first use and never closed.
 * Concurrency: pthread_once; afterwards the tables are read-only.
 */
#ifndef KCORE_RECORD_CODEC_LIBRARIES_H
#define KCORE_RECORD_CODEC_LIBRARIES_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *allocate;
    void *release;
    void *opaque;
    int data_type;
    unsigned long checksum;
    unsigned long reserved;
} kcore_zlib_stream;

typedef struct {
    int (*inflate_init)(kcore_zlib_stream *stream, int window_bits, const char *version, int stream_size);
    int (*inflate)(kcore_zlib_stream *stream, int flush);
    int (*inflate_reset)(kcore_zlib_stream *stream);
    int (*inflate_end)(kcore_zlib_stream *stream);
    int (*deflate_init)(kcore_zlib_stream *stream, int level, int method, int window_bits, int memory_level,
                        int strategy, const char *version, int stream_size);
    int (*deflate)(kcore_zlib_stream *stream, int flush);
    int (*deflate_end)(kcore_zlib_stream *stream);
    unsigned long (*deflate_bound)(kcore_zlib_stream *stream, unsigned long size);
} kcore_zlib;

typedef struct {
    const void *source;
    size_t size;
    size_t position;
} kcore_zstd_input;

typedef struct {
    void *target;
    size_t size;
    size_t position;
} kcore_zstd_output;

typedef struct {
    void *(*create_dctx)(void);
    size_t (*free_dctx)(void *context);
    size_t (*size_of_dctx)(const void *context);
    size_t (*init_dstream)(void *context);
    size_t (*decompress_stream)(void *context, kcore_zstd_output *output, kcore_zstd_input *input);
    unsigned long long (*frame_content_size)(const void *source, size_t size);
    void *(*create_cctx)(void);
    size_t (*free_cctx)(void *context);
    size_t (*compress_cctx)(void *context, void *target, size_t capacity, const void *source, size_t size, int level);
    size_t (*compress_bound)(size_t size);
    unsigned int (*is_error)(size_t code);
} kcore_zstd;

typedef struct {
    int block_size_id;
    int block_mode;
    int content_checksum;
    int frame_type;
    unsigned long long content_size;
    unsigned int dictionary_id;
    int block_checksum;
    int compression_level;
    unsigned int auto_flush;
    unsigned int favor_decompression;
    unsigned int reserved[3];
} kcore_lz4_preferences;

typedef struct {
    size_t (*create_dctx)(void **context, unsigned int version);
    size_t (*free_dctx)(void *context);
    void (*reset_dctx)(void *context);
    size_t (*decompress)(void *context, void *target, size_t *target_size, const void *source, size_t *source_size,
                         const void *options);
    size_t (*compress_frame)(void *target, size_t capacity, const void *source, size_t size,
                             const kcore_lz4_preferences *preferences);
    size_t (*compress_frame_bound)(size_t size, const kcore_lz4_preferences *preferences);
    unsigned int (*is_error)(size_t code);
} kcore_lz4;

typedef struct {
    const char *name;
    void *slot;
} kcore_symbol;

/* Opens a library and fills every slot. Returns false if the library or one of its functions is missing. */
static bool kcore_open_library(const char *file, const kcore_symbol *symbols, size_t count) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL) return false;
        *(void **)symbols[i].slot = address;
    }
    return true;
}

#define KCORE_SYMBOL_COUNT(symbols) (sizeof(symbols) / sizeof((symbols)[0]))

static kcore_zlib kcore_zlib_table;
static bool kcore_zlib_open;
static pthread_once_t kcore_zlib_once = PTHREAD_ONCE_INIT;

static void kcore_load_zlib(void) {
    const kcore_symbol symbols[] = {
        {"inflateInit2_", &kcore_zlib_table.inflate_init}, {"inflate", &kcore_zlib_table.inflate},
        {"inflateReset", &kcore_zlib_table.inflate_reset}, {"inflateEnd", &kcore_zlib_table.inflate_end},
        {"deflateInit2_", &kcore_zlib_table.deflate_init}, {"deflate", &kcore_zlib_table.deflate},
        {"deflateEnd", &kcore_zlib_table.deflate_end},     {"deflateBound", &kcore_zlib_table.deflate_bound},
    };
    kcore_zlib_open = kcore_open_library("libz.so.1", symbols, KCORE_SYMBOL_COUNT(symbols));
}

/* The table of functions, or NULL if the system lacks the library. The same holds for the two below. */
static inline const kcore_zlib *kcore_get_zlib(void) {
    pthread_once(&kcore_zlib_once, kcore_load_zlib);
    return kcore_zlib_open ? &kcore_zlib_table : NULL;
}

static kcore_zstd kcore_zstd_table;
static bool kcore_zstd_open;
static pthread_once_t kcore_zstd_once = PTHREAD_ONCE_INIT;

static void kcore_load_zstd(void) {
    const kcore_symbol symbols[] = {
        {"ZSTD_createDCtx", &kcore_zstd_table.create_dctx},
        {"ZSTD_freeDCtx", &kcore_zstd_table.free_dctx},
        {"ZSTD_sizeof_DCtx", &kcore_zstd_table.size_of_dctx},
        {"ZSTD_initDStream", &kcore_zstd_table.init_dstream},
        {"ZSTD_decompressStream", &kcore_zstd_table.decompress_stream},
        {"ZSTD_getFrameContentSize", &kcore_zstd_table.frame_content_size},
        {"ZSTD_createCCtx", &kcore_zstd_table.create_cctx},
        {"ZSTD_freeCCtx", &kcore_zstd_table.free_cctx},
        {"ZSTD_compressCCtx", &kcore_zstd_table.compress_cctx},
        {"ZSTD_compressBound", &kcore_zstd_table.compress_bound},
        {"ZSTD_isError", &kcore_zstd_table.is_error},
    };
    kcore_zstd_open = kcore_open_library("libzstd.so.1", symbols, KCORE_SYMBOL_COUNT(symbols));
}

static inline const kcore_zstd *kcore_get_zstd(void) {
    pthread_once(&kcore_zstd_once, kcore_load_zstd);
    return kcore_zstd_open ? &kcore_zstd_table : NULL;
}

static kcore_lz4 kcore_lz4_table;
static bool kcore_lz4_open;
static pthread_once_t kcore_lz4_once = PTHREAD_ONCE_INIT;

static void kcore_load_lz4(void) {
    const kcore_symbol symbols[] = {
        {"LZ4F_createDecompressionContext", &kcore_lz4_table.create_dctx},
        {"LZ4F_freeDecompressionContext", &kcore_lz4_table.free_dctx},
        {"LZ4F_resetDecompressionContext", &kcore_lz4_table.reset_dctx},
        {"LZ4F_decompress", &kcore_lz4_table.decompress},
        {"LZ4F_compressFrame", &kcore_lz4_table.compress_frame},
        {"LZ4F_compressFrameBound", &kcore_lz4_table.compress_frame_bound},
        {"LZ4F_isError", &kcore_lz4_table.is_error},
    };
    kcore_lz4_open = kcore_open_library("liblz4.so.1", symbols, KCORE_SYMBOL_COUNT(symbols));
}

static inline const kcore_lz4 *kcore_get_lz4(void) {
    pthread_once(&kcore_lz4_once, kcore_load_lz4);
    return kcore_lz4_open ? &kcore_lz4_table : NULL;
}

#endif
