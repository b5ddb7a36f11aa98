"""Native request handlers for the tests of the network, one API key a behaviour."""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from kcore.cursor cimport Cursor, cursor_over, read_int64, read_int8, remaining, take
from kcore.network.dispatch cimport (
    CLOSE, DELAYED, RESPONDED, TO_HANDLER, DispatchTable, Disposition, NativeHandler, NativeRequest,
)
from kcore.network.response cimport Response, response_bytes, response_file, response_init
from kcore.network.socket_server cimport SocketServer
from kcore.platform.epoll cimport POLLIN, poll, pollfd
from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, atomic_add_64, atomic_load_64, clock_gettime, pthread_cond_broadcast, pthread_cond_destroy,
    pthread_cond_init, pthread_cond_t, pthread_cond_timedwait, pthread_condattr_init, pthread_condattr_setclock,
    pthread_condattr_t, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t,
    pthread_mutex_unlock, timespec,
)

ECHO, PARTS, DELAY, HANG_UP, SILENT, LAST_WORDS, PASS_ON = 100, 101, 102, 103, 104, 105, 106

cdef struct Held:
    Held* next
    uint64_t connection
    size_t size
    uint8_t data[1]

cdef struct State:
    int descriptor
    int64_t released
    int64_t calls
    int64_t held
    pthread_mutex_t lock
    pthread_cond_t changed
    Held* first


cdef Disposition echo(void* context, NativeRequest* request, Response* response) noexcept nogil:
    cdef size_t size = request.size - request.body
    cdef uint8_t* target = response_bytes(response, size)
    atomic_add_64(&(<State*>context).calls, 1)
    if target == NULL:
        return CLOSE
    memcpy(target, request.frame + request.body, size)
    return RESPONDED


cdef void count_release(void* owner, int error) noexcept nogil:
    atomic_add_64(&(<State*>owner).released, 1)


cdef Disposition parts(void* context, NativeRequest* request, Response* response) noexcept nogil:
    """Body: any number of `0 size bytes...` and `1 position size`, the numbers as int64."""
    cdef State* state = <State*>context
    cdef Cursor cursor = cursor_over(request.frame + request.body, request.size - request.body)
    cdef int64_t position, size
    cdef const uint8_t* data
    while remaining(&cursor) and not cursor.failed:
        if read_int8(&cursor) == 0:
            size = read_int64(&cursor)
            data = take(&cursor, size)
            if not cursor.failed:
                memcpy(response_bytes(response, <size_t>size), data, <size_t>size)
        else:
            position = read_int64(&cursor)
            size = read_int64(&cursor)
            response_file(response, state.descriptor, position, size, count_release, state)
    return CLOSE if cursor.failed else RESPONDED


cdef Disposition delay(void* context, NativeRequest* request, Response* response) noexcept nogil:
    cdef State* state = <State*>context
    cdef size_t size = request.size - request.body
    cdef Held* held = <Held*>malloc(sizeof(Held) + size)
    cdef Held** link = &state.first
    held.next = NULL
    held.connection = request.connection
    held.size = size
    memcpy(held.data, request.frame + request.body, size)
    pthread_mutex_lock(&state.lock)
    while link[0] != NULL:
        link = &link[0].next
    link[0] = held
    state.held += 1
    pthread_cond_broadcast(&state.changed)
    pthread_mutex_unlock(&state.lock)
    return DELAYED


cdef Disposition hang_up(void* context, NativeRequest* request, Response* response) noexcept nogil:
    return CLOSE


cdef Disposition silent(void* context, NativeRequest* request, Response* response) noexcept nogil:
    atomic_add_64(&(<State*>context).calls, 1)
    response.empty = True
    return RESPONDED


cdef Disposition last_words(void* context, NativeRequest* request, Response* response) noexcept nogil:
    response.close_after = True
    return echo(context, request, response)


cdef Disposition pass_on(void* context, NativeRequest* request, Response* response) noexcept nogil:
    response_bytes(response, 100)
    return TO_HANDLER


cdef class NetworkProbe:
    """Fills a dispatch table; `descriptor` is the file that PARTS sends from."""
    cdef State state

    def __cinit__(self, DispatchTable table, int descriptor=-1):
        cdef pthread_condattr_t attributes
        self.state.descriptor = descriptor
        pthread_mutex_init(&self.state.lock, NULL)
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(&self.state.changed, &attributes)
        self.install(table, ECHO, echo)
        self.install(table, PARTS, parts)
        self.install(table, DELAY, delay)
        self.install(table, HANG_UP, hang_up)
        self.install(table, SILENT, silent)
        self.install(table, LAST_WORDS, last_words)
        self.install(table, PASS_ON, pass_on)

    def __dealloc__(self):
        cdef Held* held
        while self.state.first != NULL:
            held = self.state.first
            self.state.first = held.next
            free(held)
        pthread_cond_destroy(&self.state.changed)
        pthread_mutex_destroy(&self.state.lock)

    cdef void install(self, DispatchTable table, int key, NativeHandler handler):
        table.entries[key].handle = handler
        table.entries[key].context = &self.state
        table.entries[key].min_version = 0
        table.entries[key].max_version = 1

    @property
    def calls(self):
        return atomic_load_64(&self.state.calls)

    @property
    def released(self):
        return atomic_load_64(&self.state.released)

    def wait_for_held(self, int64_t count, int seconds=20):
        """Whether `count` requests were delayed, in all, before the time was over."""
        cdef timespec deadline
        cdef bint reached
        with nogil:
            clock_gettime(CLOCK_MONOTONIC, &deadline)
            deadline.tv_sec += seconds
            pthread_mutex_lock(&self.state.lock)
            while self.state.held < count:
                if pthread_cond_timedwait(&self.state.changed, &self.state.lock, &deadline) != 0:
                    break
            reached = self.state.held >= count
            pthread_mutex_unlock(&self.state.lock)
        return reached

    def answer_held(self, SocketServer server):
        """Echoes every delayed request, oldest first, without the GIL; how many those were."""
        cdef int64_t answered = 0
        cdef Held* held
        cdef Held* following
        cdef Response response
        with nogil:
            pthread_mutex_lock(&self.state.lock)
            held = self.state.first
            self.state.first = NULL
            pthread_mutex_unlock(&self.state.lock)
            while held != NULL:
                following = held.next
                response_init(&response)
                memcpy(response_bytes(&response, held.size), held.data, held.size)
                server.respond(held.connection, &response)
                free(held)
                held = following
                answered += 1
        return answered

    def answer_dead(self, SocketServer server, uint64_t connection):
        """A response for a connection that need not exist, with a file part whose release is counted."""
        cdef Response response
        with nogil:
            response_init(&response)
            response_bytes(&response, 10)
            response_file(&response, self.state.descriptor, 0, 10, count_release, &self.state)
            server.respond(connection, &response)


def hold_gil_until_readable(int descriptor, int timeout_ms):
    """Lets no other Python code of the process run until `descriptor` is readable; False when that took too long."""
    cdef pollfd watched
    watched.fd = descriptor
    watched.events = POLLIN
    return poll(&watched, 1, timeout_ms) == 1
