/* kload: drives a Kafka broker on this machine with requests that were encoded beforehand.
 *
 * It knows Kafka's framing only: a frame begins with its length (4 bytes), and a request's correlation id stands after its key
 * and version. Every connection sends its frame over and over, keeps up to --depth of them in flight, and checks
 * that answers come in order and carry no error. One line of JSON on stdout says what happened.
 *
 *   kload --port P --frame FILE [--frame FILE]...   connection i sends frame i modulo the number of frames
 *         [--connections N] [--depth N]             1 and 1
 *         [--requests N] [--seconds S]              sends N requests in all (1000); not all answered in S seconds (60) is an error
 *         [--error-at N]...                         positions of error codes (2 bytes, 0 expected) in an answer, length included
 *         [--offset-at N --offset-start O --offset-step K --offset-end O]
 *                                                   writes a fetch offset into the frame: O, O + K, ... and O again from the end
 *         [--for S]                                 ends after S seconds instead, however many were sent and answered
 *         [--interval-us N]                         each connection sends no sooner than N us after its last request
 *         [--rate N]                                N requests a second in all, at times fixed beforehand, the connections in turn.
 *                                                   Latency counts from that time: a late answer delays the requests behind it
 *
 * It connects to 127.0.0.1 and nowhere else, and its loops are bounded in count and time.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "histogram.h"
#include "wire.h"

#define MAX_FRAMES 128
#define MAX_CONNECTIONS 10000
#define MAX_DEPTH 1024
#define MAX_ERRORS_AT 4
#define CORRELATION_AT 8 /* after length, key and version */
#define HEAD_SIZE 256    /* how much of an answer is kept to be looked at */
#define RECEIVE_SIZE (256 * 1024)
#define TIMER_EVENT UINT32_MAX

struct frame {
    uint8_t *bytes;
    size_t size;
};

struct options {
    uint16_t port;
    struct frame frames[MAX_FRAMES];
    uint32_t frame_count;
    uint32_t connections;
    uint32_t depth;
    uint64_t requests;
    uint64_t seconds;
    uint64_t lasting_seconds; /* 0: until all requests are answered */
    uint32_t errors_at[MAX_ERRORS_AT];
    uint32_t error_count;
    uint32_t offset_at; /* 0: no offset is written */
    uint64_t offset_start, offset_step, offset_end;
    uint64_t interval_ns;
    uint64_t rate; /* 0: each connection sends when it may */
};

struct connection {
    int socket;
    const struct frame *frame;
    uint8_t *prefix; /* the frame's beginning with this request's correlation id and offset */
    size_t prefix_size;
    size_t sent; /* of the request that is going out; 0 when none is */
    bool wants_write;
    uint64_t offset;
    uint64_t due_ns;       /* not before then, with --interval-us */
    uint64_t *sent_at;     /* ring of `depth` times */
    uint32_t next_request; /* correlation ids */
    uint32_t next_answer;
    uint8_t head[HEAD_SIZE]; /* of the answer that is coming in */
    size_t received;         /* of it, length bytes included */
    size_t expected;         /* its whole size, once known */
};

struct load {
    struct options options;
    struct connection *connections;
    struct histogram latency;
    uint8_t *buffer;
    int epoll, timer;
    uint64_t started, begun, answered, bytes_sent, bytes_received;
    uint64_t ticks; /* with --rate: requests that came due */
};

static struct options defaults(void) {
    return (struct options){.connections = 1, .depth = 1, .requests = 1000, .seconds = 60};
}

static uint64_t number(const char *name, const char *text, uint64_t least, uint64_t most) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || value < least || value > most) {
        fprintf(stderr, "kload: --%s: %s is not between %llu and %llu\n", name, text, (unsigned long long)least,
                (unsigned long long)most);
        exit(2);
    }
    return value;
}

static void add_frame(struct options *options, const char *path) {
    if (options->frame_count == MAX_FRAMES) die("kload: more than %d frames", MAX_FRAMES);
    struct frame *frame = &options->frames[options->frame_count++];
    frame->bytes = read_file(path, &frame->size);
    if (frame->size < CORRELATION_AT + 4 || load_32(frame->bytes) != frame->size - 4) {
        die("kload: %s is not one frame with its length", path);
    }
}

static struct options parse(int count, char **arguments) {
    static const struct option names[] = {
        {"port", 1, 0, 'p'},       {"frame", 1, 0, 'f'},        {"connections", 1, 0, 'c'}, {"depth", 1, 0, 'd'},
        {"requests", 1, 0, 'n'},   {"seconds", 1, 0, 's'},      {"error-at", 1, 0, 'e'},    {"offset-at", 1, 0, 'o'},
        {"offset-step", 1, 0, 'k'}, {"offset-start", 1, 0, 'b'}, {"offset-end", 1, 0, 'l'},  {"interval-us", 1, 0, 'i'},
        {"for", 1, 0, 't'},        {"rate", 1, 0, 'r'},         {0, 0, 0, 0}};
    struct options options = defaults();
    int name;
    while ((name = getopt_long(count, arguments, "", names, NULL)) != -1) {
        switch (name) {
        case 'p': options.port = (uint16_t)number("port", optarg, 1, 65535); break;
        case 'f': add_frame(&options, optarg); break;
        case 'c': options.connections = (uint32_t)number("connections", optarg, 1, MAX_CONNECTIONS); break;
        case 'd': options.depth = (uint32_t)number("depth", optarg, 1, MAX_DEPTH); break;
        case 'n': options.requests = number("requests", optarg, 1, 1000000000u); break;
        case 's': options.seconds = number("seconds", optarg, 1, 600); break;
        case 'e':
            if (options.error_count == MAX_ERRORS_AT) die("kload: more than %d --error-at", MAX_ERRORS_AT);
            options.errors_at[options.error_count++] = (uint32_t)number("error-at", optarg, 8, HEAD_SIZE - 2);
            break;
        case 'o': options.offset_at = (uint32_t)number("offset-at", optarg, 12, 4096); break;
        case 'k': options.offset_step = number("offset-step", optarg, 0, INT64_MAX); break;
        case 'b': options.offset_start = number("offset-start", optarg, 0, INT64_MAX); break;
        case 'l': options.offset_end = number("offset-end", optarg, 1, INT64_MAX); break;
        case 'i': options.interval_ns = 1000 * number("interval-us", optarg, 1, 60000000u); break;
        case 'r': options.rate = number("rate", optarg, 1, 1000000u); break;
        case 't':
            options.lasting_seconds = number("for", optarg, 1, 3600);
            options.requests = UINT64_MAX;
            break;
        default: exit(2);
        }
    }
    if (options.rate != 0 && options.interval_ns != 0) die("kload: --rate and --interval-us exclude each other");
    if (options.port == 0 || options.frame_count == 0 || optind != count) {
        fprintf(stderr, "kload: usage: kload --port P --frame FILE [options]\n");
        exit(2);
    }
    for (uint32_t index = 0; index < options.frame_count; index++) {
        if (options.offset_at + 8 > options.frames[index].size) die("kload: --offset-at is past the end of a frame");
    }
    return options;
}

static void watch(struct load *load, uint32_t index, bool writable, int operation) {
    struct connection *connection = &load->connections[index];
    struct epoll_event event = {.events = EPOLLIN | (writable ? (uint32_t)EPOLLOUT : 0u), .data.u32 = index};
    if (epoll_ctl(load->epoll, operation, connection->socket, &event) != 0) die("kload: epoll_ctl");
    connection->wants_write = writable;
}

static void open_connection(struct load *load, uint32_t index) {
    struct connection *connection = &load->connections[index];
    const struct options *options = &load->options;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->socket < 0) die("kload: socket");
    if (connect(connection->socket, (struct sockaddr *)&address, sizeof address) != 0) {
        die("kload: no one listens on 127.0.0.1:%u", options->port);
    }
    int on = 1;
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fcntl(connection->socket, F_SETFL, O_NONBLOCK) != 0) die("kload: fcntl");

    connection->frame = &options->frames[index % options->frame_count];
    connection->prefix_size = options->offset_at != 0 ? options->offset_at + 8 : CORRELATION_AT + 4;
    connection->prefix = allocate(connection->prefix_size);
    memcpy(connection->prefix, connection->frame->bytes, connection->prefix_size);
    connection->offset = options->offset_start;
    connection->sent_at = allocate(options->depth * sizeof(uint64_t));
    watch(load, index, false, EPOLL_CTL_ADD);
}

/* With --rate: when the request of this number is to be sent. */
static uint64_t due_at(const struct load *load, uint64_t tick) {
    return load->started + tick * 1000000000u / load->options.rate;
}

static bool may_begin(const struct load *load, const struct connection *connection, uint64_t now) {
    return load->begun < load->options.requests && now >= connection->due_ns &&
           connection->next_request - connection->next_answer < load->options.depth;
}

static void begin_request(struct load *load, struct connection *connection, uint64_t now) {
    const struct options *options = &load->options;
    store_32(connection->prefix + CORRELATION_AT, connection->next_request);
    if (options->offset_at != 0) {
        store_64(connection->prefix + options->offset_at, connection->offset);
        connection->offset += options->offset_step;
        if (options->offset_end != 0 && connection->offset >= options->offset_end) {
            connection->offset = options->offset_start;
        }
    }
    uint64_t counted_from = options->rate != 0 ? connection->due_ns : now;
    connection->sent_at[connection->next_request % options->depth] = counted_from;
    connection->next_request++;
    load->begun++;
    if (options->rate != 0) {
        uint64_t index = (uint64_t)(connection - load->connections);
        connection->due_ns = due_at(load, index + (uint64_t)connection->next_request * options->connections);
    } else {
        connection->due_ns = options->interval_ns != 0 ? now + options->interval_ns : 0;
    }
}

/* Sends what may be sent: the rest of a request that is going out, then new ones up to the depth. */
static void send_requests(struct load *load, uint32_t index) {
    struct connection *connection = &load->connections[index];
    for (;;) {
        if (connection->sent == 0) {
            uint64_t now = now_ns();
            if (!may_begin(load, connection, now)) break;
            begin_request(load, connection, now);
        }
        size_t skip = connection->sent;
        struct iovec parts[2];
        int count = 0;
        if (skip < connection->prefix_size) {
            parts[count++] = (struct iovec){connection->prefix + skip, connection->prefix_size - skip};
            skip = connection->prefix_size;
        }
        parts[count++] = (struct iovec){connection->frame->bytes + skip, connection->frame->size - skip};
        ssize_t written = writev(connection->socket, parts, count);
        if (written < 0) {
            if (errno != EAGAIN) die("kload: connection %u was lost while sending", index);
            if (!connection->wants_write) watch(load, index, true, EPOLL_CTL_MOD);
            return;
        }
        load->bytes_sent += (uint64_t)written;
        connection->sent += (size_t)written;
        if (connection->sent == connection->frame->size) connection->sent = 0;
    }
    if (connection->wants_write) watch(load, index, false, EPOLL_CTL_MOD);
}

static void take_answer(struct load *load, uint32_t index, uint64_t now) {
    struct connection *connection = &load->connections[index];
    const struct options *options = &load->options;
    if (load_32(connection->head + 4) != connection->next_answer) die("kload: connection %u: answers out of order", index);
    for (uint32_t at = 0; at < options->error_count; at++) {
        uint32_t position = options->errors_at[at];
        if (position + 2 > connection->expected) die("kload: an answer of %zu bytes has no error code at %u",
                                                     connection->expected, position);
        int code = (int16_t)((connection->head[position] << 8) | connection->head[position + 1]);
        if (code != 0) die("kload: the broker answered error %d at position %u", code, position);
    }
    uint64_t sent_at = connection->sent_at[connection->next_answer % options->depth];
    histogram_add(&load->latency, now - sent_at);
    load->answered++;
    connection->next_answer++;
    connection->received = connection->expected = 0;
}

/* Cuts what was received into answers; only the head of each is kept. */
static void parse_answers(struct load *load, uint32_t index, const uint8_t *bytes, size_t size, uint64_t now) {
    struct connection *connection = &load->connections[index];
    while (size > 0) {
        size_t part = size;
        if (connection->received < 8) {
            part = 8 - connection->received < size ? 8 - connection->received : size;
        } else if (connection->expected - connection->received < size) {
            part = connection->expected - connection->received;
        }
        if (connection->received < HEAD_SIZE) {
            size_t room = HEAD_SIZE - connection->received;
            memcpy(connection->head + connection->received, bytes, part < room ? part : room);
        }
        connection->received += part;
        bytes += part;
        size -= part;
        if (connection->expected == 0 && connection->received >= 8) {
            connection->expected = (size_t)load_32(connection->head) + 4;
            if (connection->expected < 8) die("kload: connection %u: an answer of %zu bytes", index, connection->expected);
        }
        if (connection->expected != 0 && connection->received == connection->expected) take_answer(load, index, now);
    }
}

static void receive_answers(struct load *load, uint32_t index) {
    ssize_t size;
    do {
        size = recv(load->connections[index].socket, load->buffer, RECEIVE_SIZE, 0);
        if (size == 0) die("kload: the broker closed connection %u", index);
        if (size < 0) {
            if (errno == EAGAIN) return;
            die("kload: connection %u was lost while receiving", index);
        }
        load->bytes_received += (uint64_t)size;
        parse_answers(load, index, load->buffer, (size_t)size, now_ns());
    } while (size == RECEIVE_SIZE);
}

/* With --interval-us: the first time at which a connection may send again. */
static uint64_t earliest_due(const struct load *load) {
    uint64_t earliest = UINT64_MAX;
    for (uint32_t index = 0; index < load->options.connections; index++) {
        const struct connection *connection = &load->connections[index];
        bool has_room = connection->next_request - connection->next_answer < load->options.depth;
        if (connection->sent == 0 && has_room && connection->due_ns < earliest) earliest = connection->due_ns;
    }
    return earliest;
}

/* Wakes when the next connection is due. */
static void arm_timer(struct load *load) {
    if (load->begun == load->options.requests) return;
    uint64_t earliest = load->options.rate != 0 ? due_at(load, load->ticks) : earliest_due(load);
    if (earliest == UINT64_MAX) return;
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(earliest / 1000000000u),
                                           .tv_nsec = (long)(earliest % 1000000000u)}};
    if (earliest == 0) when.it_value.tv_nsec = 1;
    if (timerfd_settime(load->timer, TFD_TIMER_ABSTIME, &when, NULL) != 0) die("kload: timerfd_settime");
}

static void timer_fired(struct load *load) {
    uint64_t expirations;
    if (read(load->timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) die("kload: the timer was lost");
    if (load->options.rate != 0) {
        /* A connection that still waits for an answer sends its request behind it. */
        for (uint64_t now = now_ns(); due_at(load, load->ticks) <= now; load->ticks++) {
            send_requests(load, (uint32_t)(load->ticks % load->options.connections));
        }
        return;
    }
    for (uint32_t index = 0; index < load->options.connections; index++) send_requests(load, index);
}

static void run(struct load *load) {
    const struct options *options = &load->options;
    uint64_t seconds = options->lasting_seconds != 0 ? options->lasting_seconds : options->seconds;
    uint64_t deadline = load->started + seconds * 1000000000u;
    struct epoll_event events[256];
    for (uint32_t index = 0; index < options->connections; index++) {
        if (options->rate != 0) load->connections[index].due_ns = due_at(load, index);
        send_requests(load, index);
    }
    while (load->answered < options->requests) {
        if (options->interval_ns != 0 || options->rate != 0) arm_timer(load);
        int count = epoll_wait(load->epoll, events, 256, 1000);
        if (count < 0 && errno != EINTR) die("kload: epoll_wait");
        for (int event = 0; event < count; event++) {
            uint32_t index = events[event].data.u32;
            if (index == TIMER_EVENT) {
                timer_fired(load);
                continue;
            }
            if (events[event].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive_answers(load, index);
            send_requests(load, index);
        }
        if (now_ns() > deadline) {
            if (options->lasting_seconds != 0) return;
            die("kload: %llu of %llu answers after %llu s", (unsigned long long)load->answered,
                (unsigned long long)options->requests, (unsigned long long)options->seconds);
        }
    }
}

static void report(const struct load *load, uint64_t elapsed_ns) {
    double seconds = (double)elapsed_ns / 1e9;
    const struct histogram *latency = &load->latency;
    printf("{\"requests\": %llu, \"seconds\": %.6f, \"requests_per_s\": %.1f, \"bytes_sent\": %llu, "
           "\"bytes_received\": %llu, \"mb_per_s\": %.2f, \"latency_us\": {\"p50\": %.1f, \"p99\": %.1f, "
           "\"p999\": %.1f, \"max\": %.1f}}\n",
           (unsigned long long)load->answered, seconds, (double)load->answered / seconds,
           (unsigned long long)load->bytes_sent, (unsigned long long)load->bytes_received,
           (double)(load->bytes_sent + load->bytes_received) / seconds / 1e6,
           (double)histogram_quantile(latency, 0.5) / 1e3, (double)histogram_quantile(latency, 0.99) / 1e3,
           (double)histogram_quantile(latency, 0.999) / 1e3, (double)latency->largest / 1e3);
}

int main(int count, char **arguments) {
    struct load *load = allocate(sizeof *load);
    load->options = parse(count, arguments);
    load->buffer = allocate(RECEIVE_SIZE);
    load->connections = allocate(load->options.connections * sizeof(struct connection));
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = TIMER_EVENT};
    if (load->epoll < 0 || load->timer < 0 || epoll_ctl(load->epoll, EPOLL_CTL_ADD, load->timer, &event) != 0) {
        die("kload: epoll or timerfd");
    }
    for (uint32_t index = 0; index < load->options.connections; index++) open_connection(load, index);
    load->started = now_ns();
    run(load);
    report(load, now_ns() - load->started);
    return 0;
}
