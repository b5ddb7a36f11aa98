/* floor: what the machine asks for the same bytes when a program does nothing else with them.
 *
 *   floor produce FILE        receives, checksums with CRC-32C and writes to FILE, piece by piece; answers each frame with 32 bytes
 *   floor fetch FILE BYTES    answers each frame with a header and the next BYTES of FILE by sendfile(2), 64 KiB a call
 *
 * It prints the port it listens on (127.0.0.1), serves any number of connections on one epoll, and ends when its standard
 * input does. The broker's CPU time for the same load is put in relation to this one's (perf/run_dataplane.py).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../kcore/record/crc32c.h"
#include "wire.h"

#define RECEIVE_SIZE (256 * 1024) /* stays in the cache until it is checksummed and written */
#define MAX_PENDING 1024          /* requests that one client may have in flight */
#define PRODUCE_ANSWER 32
#define FETCH_HEADER 64
#define SENDFILE_SIZE (64 * 1024)

struct client {
    int socket;
    uint8_t head[12];            /* of the frame that is coming in */
    size_t received, expected;   /* of it; expected is 0 until its length is known */
    uint8_t answers[MAX_PENDING][4]; /* correlation ids that wait for their answer, in a ring */
    uint32_t first, next;
    size_t header_left;  /* fetch: of the answer that is going out */
    size_t body_left;
    uint8_t header[FETCH_HEADER];
    off_t position;
};

struct floor_server {
    bool is_fetch;
    int file, epoll;
    off_t file_size, write_position;
    size_t answer_bytes;
    uint8_t *buffer;
    uint32_t checksum; /* kept so that the work cannot be left out */
};

static int listen_on_loopback(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1024) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        die("floor: cannot listen on 127.0.0.1");
    }
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void accept_client(struct floor_server *server, int listener) {
    struct client *client = allocate(sizeof *client);
    client->socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client->socket < 0) die("floor: accept");
    int on = 1;
    setsockopt(client->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, client->socket, &event) != 0) die("floor: epoll_ctl");
}

static void close_client(struct client *client) {
    close(client->socket);
    free(client);
}

/* Follows the frames through what was received, and queues the correlation id of each that ended. */
static void follow_frames(struct client *client, const uint8_t *bytes, size_t size) {
    while (size > 0) {
        size_t wanted = client->expected != 0 ? client->expected : sizeof client->head;
        size_t part = wanted - client->received < size ? wanted - client->received : size;
        if (client->received < sizeof client->head) memcpy(client->head + client->received, bytes, part);
        client->received += part;
        bytes += part;
        size -= part;
        if (client->expected == 0 && client->received == sizeof client->head) {
            client->expected = (size_t)load_32(client->head) + 4;
            if (client->expected <= sizeof client->head) die("floor: a frame of %zu bytes", client->expected);
        }
        if (client->received != client->expected) continue;
        if (client->next - client->first == MAX_PENDING) die("floor: more than %d requests wait", MAX_PENDING);
        memcpy(client->answers[client->next++ % MAX_PENDING], client->head + 8, 4);
        client->received = client->expected = 0;
    }
}

/* Answers all frames that ended, with one call. False when the client has gone. */
static bool answer_produce(struct client *client) {
    static uint8_t answers[MAX_PENDING * PRODUCE_ANSWER];
    size_t size = 0;
    for (; client->first != client->next; size += PRODUCE_ANSWER) {
        store_32(answers + size, PRODUCE_ANSWER - 4);
        memcpy(answers + size + 4, client->answers[client->first++ % MAX_PENDING], 4);
    }
    return size == 0 || send(client->socket, answers, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Sends answers until all are gone or the socket is full. False when the client has gone. */
static bool send_fetch(struct floor_server *server, struct client *client) {
    for (;;) {
        if (client->header_left == 0 && client->body_left == 0) {
            if (client->first == client->next) return true;
            store_32(client->header, (uint32_t)(FETCH_HEADER + server->answer_bytes - 4));
            memcpy(client->header + 4, client->answers[client->first++ % MAX_PENDING], 4);
            client->header_left = FETCH_HEADER;
            client->body_left = server->answer_bytes;
            if (client->position + (off_t)server->answer_bytes > server->file_size) client->position = 0;
        }
        ssize_t sent;
        if (client->header_left > 0) {
            sent = send(client->socket, client->header + FETCH_HEADER - client->header_left, client->header_left,
                        MSG_NOSIGNAL | MSG_MORE);
            if (sent > 0) client->header_left -= (size_t)sent;
        } else {
            size_t piece = client->body_left < SENDFILE_SIZE ? client->body_left : SENDFILE_SIZE;
            sent = sendfile(client->socket, server->file, &client->position, piece);
            if (sent > 0) client->body_left -= (size_t)sent;
        }
        if (sent <= 0) return sent < 0 && errno == EAGAIN;
    }
}

/* Receives once, and for produce checksums and writes what came. False when the client has gone. */
static bool receive(struct floor_server *server, struct client *client) {
    ssize_t size = recv(client->socket, server->buffer, RECEIVE_SIZE, 0);
    if (size <= 0) return size < 0 && errno == EAGAIN;
    if (!server->is_fetch) {
        server->checksum = kcore_crc32c_update(server->checksum, server->buffer, (size_t)size);
        if (pwrite(server->file, server->buffer, (size_t)size, server->write_position) != size) {
            die("floor: the file cannot be written");
        }
        server->write_position += (off_t)size;
    }
    follow_frames(client, server->buffer, (size_t)size);
    return true;
}

static bool serve(struct floor_server *server, struct client *client, uint32_t events) {
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !receive(server, client)) return false;
    if (!server->is_fetch) return answer_produce(client);
    if (!send_fetch(server, client)) return false;
    bool waits = client->header_left + client->body_left > 0;
    struct epoll_event event = {.events = waits ? (uint32_t)EPOLLOUT : (uint32_t)EPOLLIN, .data.ptr = client};
    return epoll_ctl(server->epoll, EPOLL_CTL_MOD, client->socket, &event) == 0;
}

/* Serves until standard input ends; `listener` and standard input are told apart by their addresses. */
static void run(struct floor_server *server, int listener) {
    int input = STDIN_FILENO;
    struct epoll_event events[64];
    struct epoll_event on_listener = {.events = EPOLLIN, .data.ptr = &listener};
    struct epoll_event on_input = {.events = EPOLLIN, .data.ptr = &input};
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, listener, &on_listener) != 0) die("floor: epoll_ctl");
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, input, &on_input) != 0) die("floor: standard input must be a pipe");
    for (;;) {
        int count = epoll_wait(server->epoll, events, 64, -1);
        if (count < 0 && errno != EINTR) die("floor: epoll_wait");
        for (int event = 0; event < count; event++) {
            if (events[event].data.ptr == &input) return;
            if (events[event].data.ptr == &listener) {
                accept_client(server, listener);
            } else if (!serve(server, events[event].data.ptr, events[event].events)) {
                close_client(events[event].data.ptr);
            }
        }
    }
}

int main(int count, char **arguments) {
    struct floor_server server = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
    server.is_fetch = count == 4 && strcmp(arguments[1], "fetch") == 0;
    if (!server.is_fetch && !(count == 3 && strcmp(arguments[1], "produce") == 0)) {
        fprintf(stderr, "floor: usage: floor produce FILE | floor fetch FILE BYTES\n");
        return 2;
    }
    kcore_crc32c_initialize();
    server.buffer = allocate(RECEIVE_SIZE);
    int flags = server.is_fetch ? O_RDONLY : O_RDWR | O_CREAT | O_TRUNC;
    server.file = open(arguments[2], flags | O_CLOEXEC, 0644);
    if (server.file < 0) die("floor: %s", arguments[2]);
    if (server.is_fetch) {
        server.file_size = lseek(server.file, 0, SEEK_END);
        server.answer_bytes = strtoul(arguments[3], NULL, 10);
        if (server.answer_bytes == 0 || (off_t)server.answer_bytes > server.file_size) die("floor: BYTES is not in FILE");
    }
    run(&server, listen_on_loopback());
    fprintf(stderr, "floor: checksum %08x\n", server.checksum);
    return 0;
}
