/* peer: the least that a client has to do for bytes that are encoded already (perf/clients compares it with clients).
 *
 *   peer send --port P --frame FILE --requests N --depth D [--copies C]
 *       sends one Produce request N times, D of them in flight, and checks the error code of each answer; out of C copies in
 *       turn (1), so that the bytes come from memory, as those of a backlog do, and not from a cache
 *   peer receive --port P --frame FILE --offset-at N --end OFFSET
 *       sends one Fetch request over and over, from offset 0 on; checksums every batch that it gets with CRC-32C, and ends
 *       at OFFSET
 *
 * With --fill they do besides what no client gets around that is given values, or gives them: `send` copies its batch,
 * piece by piece and each behind its checksum, into the copy that it sends next, and `receive` copies every batch that it
 * has checked behind the one before, in memory of COLUMN_BYTES that is used again and again.
 *
 * Produce 9 and Fetch 12 of one topic and partition, 127.0.0.1 only. One line of JSON on stdout: bytes of record batches,
 * CPU seconds of this process, seconds. Loops are bounded: by N, and by a deadline on every wait for an answer.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../kcore/record/crc32c.h"
#include "../load/wire.h"

#define CORRELATION_AT 8       /* after length, key and version */
#define TIMEOUT_S 60           /* for any answer */
#define MAX_ANSWER (1u << 30)
#define MAX_COPIES 65536
#define BATCH_HEAD 12          /* base offset and length: a batch is as long as that says, and these */
#define CHECKED_FROM 21        /* of a batch: what stands behind its checksum */
#define BATCH_HEADER 61
#define PIECE_BYTES 16384      /* what is copied, and then summed, at a time */
#define COLUMN_BYTES (4u << 20)

struct options {
    uint16_t port;
    uint8_t *frame;
    size_t frame_size, offset_at;
    uint64_t requests, depth, end, copies;
    bool fills;
};

struct input {
    const uint8_t *at, *end;
};

static uint64_t number(const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-') die("peer: %s is no number", text);
    return value;
}

static struct options parse(int count, char **arguments) {
    static const struct option names[] = {{"port", 1, 0, 'p'},  {"frame", 1, 0, 'f'}, {"requests", 1, 0, 'n'},
                                          {"depth", 1, 0, 'd'}, {"end", 1, 0, 'e'},   {"offset-at", 1, 0, 'o'},
                                          {"copies", 1, 0, 'c'}, {"fill", 0, 0, 'F'},  {0, 0, 0, 0}};
    struct options options = {.requests = 1, .depth = 1, .copies = 1};
    int name;
    while ((name = getopt_long(count, arguments, "", names, NULL)) != -1) {
        switch (name) {
        case 'p': options.port = (uint16_t)number(optarg); break;
        case 'f': options.frame = read_file(optarg, &options.frame_size); break;
        case 'n': options.requests = number(optarg); break;
        case 'd': options.depth = number(optarg); break;
        case 'e': options.end = number(optarg); break;
        case 'o': options.offset_at = number(optarg); break;
        case 'c': options.copies = number(optarg); break;
        case 'F': options.fills = true; break;
        default: exit(2);
        }
    }
    if (options.port == 0 || options.frame == NULL || options.frame_size < CORRELATION_AT + 4 || options.depth == 0 ||
        options.copies == 0 || options.copies > MAX_COPIES || options.offset_at + 8 > options.frame_size) {
        fprintf(stderr, "peer: usage: peer send|receive --port P --frame FILE [options]\n");
        exit(2);
    }
    return options;
}

static int connect_to(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = TIMEOUT_S};
    int on = 1;
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
        die("peer: no one listens on 127.0.0.1:%u", port);
    }
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return connection;
}

static void send_all(int connection, const uint8_t *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(connection, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) die("peer: the connection took no more");
        bytes += sent;
        size -= (size_t)sent;
    }
}

static void receive_all(int connection, uint8_t *bytes, size_t size) {
    while (size > 0) {
        ssize_t received = recv(connection, bytes, size, 0);
        if (received <= 0) die("peer: the connection ended, or nothing came for %d s", TIMEOUT_S);
        bytes += received;
        size -= (size_t)received;
    }
}

/* The next answer, in a buffer that grows as it must. */
static struct input receive_answer(int connection, uint8_t **buffer, size_t *capacity) {
    uint8_t length[4];
    receive_all(connection, length, sizeof length);
    uint32_t size = load_32(length);
    if (size > MAX_ANSWER) die("peer: an answer of %u bytes", size);
    if (size > *capacity) {
        free(*buffer);
        *capacity = size;
        *buffer = allocate(size);
    }
    receive_all(connection, *buffer, size);
    return (struct input){*buffer, *buffer + size};
}

static const uint8_t *take(struct input *input, size_t size) {
    if ((size_t)(input->end - input->at) < size) die("peer: an answer ends too early");
    const uint8_t *from = input->at;
    input->at += size;
    return from;
}

static uint64_t take_varint(struct input *input) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint8_t byte = *take(input, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    die("peer: a number that does not end");
}

static void expect_no_error(struct input *input) {
    const uint8_t *code = take(input, 2);
    if (code[0] != 0 || code[1] != 0) die("peer: the broker answers with error %d", (int16_t)(code[0] << 8 | code[1]));
}

/* Correlation id and tags, then the head of the one topic, up to its partition's index and error. */
static void expect_partition(struct input *input) {
    take_varint(input);
    take(input, take_varint(input) - 1);
    take_varint(input);
    take(input, 4);
    expect_no_error(input);
}

/* The frame so many times, one behind the other. */
static uint8_t *copies_of(const struct options *options) {
    uint8_t *copies = allocate(options->copies * options->frame_size);
    for (uint64_t index = 0; index < options->copies; index++) {
        memcpy(copies + index * options->frame_size, options->frame, options->frame_size);
    }
    return copies;
}

/* The frame once more, as somebody makes it who encodes values: its bytes are copied and summed while they are near. */
static uint32_t fill(uint8_t *copy, const uint8_t *frame, size_t size) {
    uint32_t crc = 0;
    for (size_t at = 0; at < size; at += PIECE_BYTES) {
        size_t piece = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        memcpy(copy + at, frame + at, piece);
        crc = kcore_crc32c_update(crc, copy + at, piece);
    }
    return crc;
}

static uint64_t send_requests(const struct options *options, int connection, uint8_t *copies) {
    uint8_t *buffer = NULL;
    size_t capacity = 0;
    uint64_t answered = 0;
    uint32_t sum = kcore_crc32c_update(0, options->frame, options->frame_size);
    for (uint64_t begun = 0; answered < options->requests;) {
        if (begun < options->requests && begun - answered < options->depth) {
            uint8_t *frame = copies + begun % options->copies * options->frame_size;
            if (options->fills && fill(frame, options->frame, options->frame_size) != sum) die("peer: a wrong copy");
            store_32(frame + CORRELATION_AT, (uint32_t)begun++);
            send_all(connection, frame, options->frame_size);
            continue;
        }
        struct input answer = receive_answer(connection, &buffer, &capacity);
        if (load_32(take(&answer, 4)) != (uint32_t)answered) die("peer: answers come out of order");
        take(&answer, 1);
        expect_partition(&answer);
        answered++;
    }
    free(buffer);
    return options->requests * options->frame_size;
}

/* Checks whole batches, of which the last one may be cut off; the offset behind them. */
static uint64_t check_batches(struct input records, uint64_t offset, uint64_t *bytes, uint8_t *columns) {
    size_t filled = 0;
    while (records.end - records.at >= BATCH_HEADER) {
        const uint8_t *batch = records.at;
        uint64_t size = BATCH_HEAD + (uint64_t)load_32(batch + 8);
        if (size < BATCH_HEADER) die("peer: a batch of %llu bytes", (unsigned long long)size);
        if (size > (uint64_t)(records.end - records.at)) break;
        if (kcore_crc32c_update(0, batch + CHECKED_FROM, size - CHECKED_FROM) != load_32(batch + 17)) {
            die("peer: a batch with a wrong checksum");
        }
        offset = ((uint64_t)load_32(batch) << 32 | load_32(batch + 4)) + load_32(batch + 23) + 1;
        *bytes += size;
        if (columns != NULL && size <= COLUMN_BYTES) {
            if (filled + size > COLUMN_BYTES) filled = 0;
            memcpy(columns + filled, batch, size);
            filled += size;
        }
        records.at += size;
    }
    return offset;
}

static uint64_t receive_records(const struct options *options, int connection) {
    uint8_t *buffer = NULL;
    uint8_t *columns = options->fills ? allocate(COLUMN_BYTES) : NULL;
    size_t capacity = 0;
    uint64_t bytes = 0;
    for (uint64_t offset = 0; offset < options->end;) {
        store_64(options->frame + options->offset_at, offset);
        send_all(connection, options->frame, options->frame_size);
        struct input answer = receive_answer(connection, &buffer, &capacity);
        take(&answer, 4 + 1 + 4);
        expect_no_error(&answer);
        take(&answer, 4);
        expect_partition(&answer);
        take(&answer, 24);
        for (uint64_t aborted = take_varint(&answer); aborted > 1; aborted--) take(&answer, 17);
        take(&answer, 4);
        uint64_t size = take_varint(&answer);
        if (size == 0) continue;
        const uint8_t *records = take(&answer, size - 1);
        offset = check_batches((struct input){records, records + size - 1}, offset, &bytes, columns);
    }
    free(columns);
    free(buffer);
    return bytes;
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int count, char **arguments) {
    bool is_send = count > 1 && strcmp(arguments[1], "send") == 0;
    if (!is_send && (count < 2 || strcmp(arguments[1], "receive") != 0)) {
        fprintf(stderr, "peer: usage: peer send|receive --port P --frame FILE [options]\n");
        return 2;
    }
    struct options options = parse(count - 1, arguments + 1);
    kcore_crc32c_initialize();
    int connection = connect_to(options.port);
    uint8_t *copies = copies_of(&options);
    double cpu = cpu_seconds();
    uint64_t began = now_ns();
    uint64_t bytes = is_send ? send_requests(&options, connection, copies) : receive_records(&options, connection);
    printf("{\"bytes\": %llu, \"cpu_s\": %.6f, \"elapsed_s\": %.6f}\n", (unsigned long long)bytes, cpu_seconds() - cpu,
           (double)(now_ns() - began) / 1e9);
    close(connection);
    free(copies);
    free(options.frame);
    return 0;
}
