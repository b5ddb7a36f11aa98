"""Receives and sends on one connection. The processor decides which requests to execute, and when.

Receiving: up to RECEIVE_CHUNK bytes go into a warm buffer of the pool, and complete frames are executed in place. A
larger frame gets a buffer of its size and is read exactly to its end, so that no byte of it is moved twice. A
connection without buffered bytes holds no buffer.

If request memory is bounded and half of it is used, nothing is read ahead. A buffer of UNCOUNTED_BYTES receives small
frames and the length of larger ones. A larger frame then gets a buffer of its own, or waits for one.

Sending: byte runs are gathered into one `sendmsg`. File ranges are sent with `sendfile`, at most SENDFILE_LIMIT bytes
per call, where its cost per byte is lowest. A small range is read and gathered with the bytes instead. If a file is
shorter than its range or cannot be read, the connection is closed, because the response header has already promised the
bytes. The owner of an unreadable file is notified, so that the next read returns an error.

Concurrency: a connection belongs to the thread of its processor.
"""

from libc.errno cimport EIO
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove
from kcore.network.memory_pool cimport UNCOUNTED_BYTES, MemoryPool
from kcore.network.receive_buffer cimport BufferPool, RECEIVE_CHUNK, buffer_capacity, pool_give, pool_take
from kcore.network.request_timing cimport timings_trim
from kcore.network.response cimport Response, ResponsePart, part_let_go, release_part, response_free
from kcore.platform.disk cimport DiskOperations, iovec
from kcore.transport.byte_stream cimport STREAM_WANT_READ, STREAM_WANT_WRITE, ByteStream

cdef enum:
    SENDFILE_LIMIT = 64 * 1024
    COPIED_RANGE = 4096          # file ranges below this size are copied
    GATHERED_PARTS = 64
    LENGTH_PREFIX = 4
    FIRST_PARTS = 8


cdef Connection* connection_new(ByteStream* stream) noexcept nogil:
    cdef Connection* connection = <Connection*>calloc(1, sizeof(Connection))
    if connection != NULL:
        connection.stream = stream
    return connection


cdef void connection_free(Connection* connection, BufferPool* pool) noexcept nogil:
    cdef int32_t i
    for i in range(connection.head, connection.count):
        release_part(&connection.parts[i])
    connection.stream.close(connection.stream)
    release_buffer(connection, pool)
    (<MemoryPool>pool.memory).cancel(&connection.claim)
    timings_trim(&connection.timings, True)
    free(connection.parts)
    free(connection)


cdef size_t buffered_bytes(const Connection* connection) noexcept nogil:
    return connection.end - connection.start


cdef bint has_unsent(const Connection* connection) noexcept nogil:
    return connection.head < connection.count


# --- receiving -----------------------------------------------------------------------------------------------------

cdef void release_buffer(Connection* connection, BufferPool* pool) noexcept nogil:
    if connection.buffer != NULL:
        pool_give(pool, connection.buffer, connection.capacity)
    connection.buffer = NULL
    connection.capacity = connection.start = connection.end = 0
    connection.single_frame = False


cdef ReceiveStatus move_to_buffer(Connection* connection, BufferPool* pool, size_t size) noexcept nogil:
    """Moves the buffered bytes to the start of a buffer of at least `size` bytes, which the caller has reserved."""
    cdef size_t capacity = 0
    cdef size_t kept = buffered_bytes(connection)
    cdef uint8_t* buffer = pool_take(pool, size, &capacity)
    if buffer == NULL:
        return RECEIVE_FAILED
    if kept:
        memcpy(buffer, connection.buffer + connection.start, kept)
    release_buffer(connection, pool)
    connection.buffer = buffer
    connection.capacity = capacity
    connection.end = kept
    return RECEIVED


cdef ReceiveStatus take_larger(Connection* connection, BufferPool* pool, size_t needed) noexcept nogil:
    """Gets a buffer for `needed` bytes of a frame, if memory allows. The frame's size is known after LENGTH_PREFIX."""
    cdef bint is_known = buffered_bytes(connection) >= LENGTH_PREFIX
    cdef size_t comfortable = needed if needed > RECEIVE_CHUNK else RECEIVE_CHUNK
    cdef ReceiveStatus status
    if is_known and (<MemoryPool>pool.memory).redeem(&connection.claim):
        status = move_to_buffer(connection, pool, needed)
    elif (<MemoryPool>pool.memory).reserve_spare(<int64_t>buffer_capacity(comfortable)):
        return move_to_buffer(connection, pool, comfortable)
    elif not is_known or needed <= UNCOUNTED_BYTES:
        return move_to_buffer(connection, pool, UNCOUNTED_BYTES)
    elif (<MemoryPool>pool.memory).reserve(<int64_t>buffer_capacity(needed)):
        status = move_to_buffer(connection, pool, needed)
    else:
        return RECEIVE_STARVED
    connection.single_frame = True
    return status


cdef ReceiveStatus make_room(Connection* connection, BufferPool* pool, size_t needed) noexcept nogil:
    """Makes room for `needed` bytes from connection.start on, and for at least one more byte."""
    cdef size_t kept = buffered_bytes(connection)
    if kept == 0 and connection.single_frame:
        release_buffer(connection, pool)
    if connection.buffer == NULL or needed > connection.capacity:
        return take_larger(connection, pool, needed)
    if kept == 0:
        connection.start = connection.end = 0
    elif connection.start + needed > connection.capacity or connection.end == connection.capacity:
        memmove(connection.buffer, connection.buffer + connection.start, kept)
        connection.start = 0
        connection.end = kept
    return RECEIVED


cdef ReceiveStatus connection_receive(Connection* connection, BufferPool* pool, int64_t* received) noexcept nogil:
    cdef size_t needed = connection.expected_bytes
    cdef size_t wanted
    cdef int64_t size
    cdef ReceiveStatus status = make_room(connection, pool, needed)
    received[0] = 0
    if status != RECEIVED:
        return status
    wanted = connection.capacity - connection.end
    if connection.single_frame or needed > RECEIVE_CHUNK and buffered_bytes(connection) >= LENGTH_PREFIX:
        wanted = connection.start + needed - connection.end
    elif wanted > RECEIVE_CHUNK:
        wanted = RECEIVE_CHUNK
    size = connection.stream.recv(connection.stream, connection.buffer + connection.end, wanted)
    if size > 0:
        connection.end += <size_t>size
        received[0] = size
        return RECEIVED if <size_t>size == wanted else RECEIVE_DRAINED
    if size == 0:
        return RECEIVE_END
    return RECEIVE_DRAINED if size == STREAM_WANT_READ or size == STREAM_WANT_WRITE else RECEIVE_FAILED


cdef void connection_park(Connection* connection, BufferPool* pool) noexcept nogil:
    cdef size_t kept = buffered_bytes(connection)
    timings_trim(&connection.timings, False)
    if kept == 0:
        release_buffer(connection, pool)
    elif kept <= UNCOUNTED_BYTES and connection.capacity > UNCOUNTED_BYTES:
        move_to_buffer(connection, pool, kept)


# --- sending -------------------------------------------------------------------------------------------------------

cdef bint make_part_room(Connection* connection, int32_t added) noexcept nogil:
    cdef int32_t waiting = connection.count - connection.head
    cdef int32_t capacity = connection.part_capacity if connection.part_capacity else FIRST_PARTS
    cdef ResponsePart* parts
    if connection.head:
        memmove(connection.parts, connection.parts + connection.head, <size_t>waiting * sizeof(ResponsePart))
        connection.head = 0
        connection.count = waiting
    while capacity < waiting + added:
        capacity *= 2
    if capacity == connection.part_capacity:
        return True
    parts = <ResponsePart*>realloc(connection.parts, <size_t>capacity * sizeof(ResponsePart))
    if parts == NULL:
        return False
    connection.parts = parts
    connection.part_capacity = capacity
    return True


cdef bint copy_file_range(ResponsePart* part, const DiskOperations* disk) noexcept nogil:
    """Reads a small file range into memory. False if the file does not contain all of it."""
    cdef uint8_t* data = <uint8_t*>malloc(<size_t>part.size_bytes)
    cdef int64_t size
    if data == NULL:
        return False
    size = disk.pread(disk.context, part.descriptor, data, <size_t>part.size_bytes, part.position)
    part_let_go(part, <int>min(size, <int64_t>0))
    part.data = data
    part.capacity_bytes = part.size_bytes
    return size == part.size_bytes


cdef bint connection_enqueue(Connection* connection, Response* response, const DiskOperations* disk) noexcept nogil:
    cdef int32_t i
    cdef ResponsePart* part
    cdef bint whole = True
    if connection.count + response.count > connection.part_capacity and not make_part_room(connection, response.count):
        response_free(response)
        return False
    for i in range(response.count):
        part = &connection.parts[connection.count]
        part[0] = response.parts[i]
        if part.data == NULL and part.size_bytes < COPIED_RANGE:
            whole = copy_file_range(part, disk) and whole
        connection.bytes_enqueued += part.size_bytes
        connection.count += 1
    if response.close_after:
        connection.close_after_send = True
    response.count = 0
    return whole


cdef void part_sent(Connection* connection) noexcept nogil:
    release_part(&connection.parts[connection.head])
    connection.head += 1
    connection.head_sent = 0
    if connection.head == connection.count:
        connection.head = connection.count = 0


cdef void bytes_sent(Connection* connection, int64_t size) noexcept nogil:
    cdef int64_t left
    while size > 0:
        left = connection.parts[connection.head].size_bytes - connection.head_sent
        if size < left:
            connection.head_sent += size
            return
        size -= left
        part_sent(connection)


cdef int64_t send_gathered(Connection* connection) noexcept nogil:
    """Sends the byte runs at the head of the queue with one writev."""
    cdef iovec[64] runs
    cdef int gathered = 0
    cdef int32_t i = connection.head
    cdef int64_t skipped = connection.head_sent
    cdef ResponsePart* part
    cdef bint more = False
    while i < connection.count:
        part = &connection.parts[i]
        if part.data == NULL or gathered == GATHERED_PARTS:
            more = True
            break
        runs[gathered].iov_base = part.data + skipped
        runs[gathered].iov_len = <size_t>(part.size_bytes - skipped)
        skipped = 0
        gathered += 1
        i += 1
    return connection.stream.writev(connection.stream, runs, gathered, more)


cdef int64_t send_file_range(Connection* connection, const DiskOperations* disk) noexcept nogil:
    """Sends the file range at the head of the queue with one sendfile. A file that ends too early is an error."""
    cdef ResponsePart* part = &connection.parts[connection.head]
    cdef int64_t left = part.size_bytes - connection.head_sent
    cdef int64_t size = connection.stream.sendfile(
        connection.stream, disk, part.descriptor, part.position + connection.head_sent,
        <size_t>(left if left < SENDFILE_LIMIT else SENDFILE_LIMIT))
    if size == -EIO:
        # Not a socket error: notify the owner of the file, so that readers do not retry it forever.
        part_let_go(part, -EIO)
    return size if size != 0 else -1


cdef FlushStatus connection_flush(Connection* connection, const DiskOperations* disk, int64_t budget_bytes,
                                  int64_t* sent) noexcept nogil:
    cdef int64_t size
    sent[0] = 0
    while connection.head < connection.count:
        if connection.parts[connection.head].size_bytes == 0:
            part_sent(connection)
            continue
        if sent[0] >= budget_bytes:
            return FLUSH_YIELD
        if connection.parts[connection.head].data != NULL:
            size = send_gathered(connection)
        else:
            size = send_file_range(connection, disk)
        if size == STREAM_WANT_WRITE or size == STREAM_WANT_READ:
            return FLUSH_BLOCKED
        if size < 0:
            return FLUSH_FAILED
        sent[0] += size
        connection.bytes_sent += size
        bytes_sent(connection, size)
    return FLUSHED
