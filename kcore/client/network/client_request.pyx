"""ReceivedFrame: the reference-counted buffer of one response, so that fetched data can stay where it was received.

A frame and its bytes are one block of memory. Large blocks are reused, the last one returned first, because receiving
into fresh pages is several times as expensive. Free blocks of the process are limited to FREE_BYTES.

Concurrency: any thread may hold and release frames. The free blocks have one lock, under which no other is taken.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from kcore.client.network.client_request cimport ReceivedFrame
from kcore.platform.sync cimport (
    atomic_add_32, atomic_add_64, atomic_load_64, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock,
)

cdef extern from *:
    int count_leading_zeros "__builtin_clzll"(unsigned long long value) noexcept nogil

cdef enum:
    SMALLEST_OCTAVE = 16         # frames from 64 KiB on are pooled; malloc is fast enough for smaller ones
    CLASSES = 64                 # four per power of two, up to 4 GiB
    FREE_BYTES = 64 * 1024 * 1024

# Free frames by size class. The first bytes of a free frame are the address of the next one.
cdef struct FrameStock:
    pthread_mutex_t lock
    ReceivedFrame* free_frames[64]
    size_t free_bytes

cdef FrameStock stock
cdef int64_t held_frames = 0
memset(&stock, 0, sizeof(stock))
pthread_mutex_init(&stock.lock, NULL)


cdef int class_of(size_t size) noexcept nogil:
    """Return the smallest class for `size` bytes; CLASSES or more: none."""
    cdef int octave
    if size <= <size_t>1 << SMALLEST_OCTAVE:
        return 0
    octave = 63 - count_leading_zeros(size - 1)
    return 4 * (octave - SMALLEST_OCTAVE) + 1 + <int>((size - 1 - (<size_t>1 << octave)) >> (octave - 2))


cdef size_t capacity_of_class(int size_class) noexcept nogil:
    cdef int octave = SMALLEST_OCTAVE + ((size_class - 1) >> 2)
    if size_class == 0:
        return <size_t>1 << SMALLEST_OCTAVE
    return (<size_t>1 << octave) + (<size_t>(((size_class - 1) & 3) + 1) << (octave - 2))


cdef ReceivedFrame* take_free(int size_class) noexcept nogil:
    cdef ReceivedFrame* frame
    pthread_mutex_lock(&stock.lock)
    frame = stock.free_frames[size_class]
    if frame != NULL:
        stock.free_frames[size_class] = (<ReceivedFrame**>frame.data)[0]
        stock.free_bytes -= frame.capacity
    pthread_mutex_unlock(&stock.lock)
    return frame


cdef bint give_free(ReceivedFrame* frame) noexcept nogil:
    """Keep a frame for reuse. Returns False if FREE_BYTES would be exceeded."""
    cdef int size_class = class_of(frame.capacity)
    cdef bint kept
    pthread_mutex_lock(&stock.lock)
    kept = stock.free_bytes + frame.capacity <= FREE_BYTES
    if kept:
        (<ReceivedFrame**>frame.data)[0] = stock.free_frames[size_class]
        stock.free_frames[size_class] = frame
        stock.free_bytes += frame.capacity
    pthread_mutex_unlock(&stock.lock)
    return kept


cdef ReceivedFrame* frame_new(size_t size) noexcept nogil:
    cdef int size_class = class_of(size)
    cdef bint is_pooled = size > <size_t>1 << (SMALLEST_OCTAVE - 1) and size_class < CLASSES
    cdef size_t capacity = capacity_of_class(size_class) if is_pooled else size
    cdef ReceivedFrame* frame = take_free(size_class) if is_pooled else NULL
    if frame == NULL:
        frame = <ReceivedFrame*>malloc(sizeof(ReceivedFrame) + capacity)
        if frame == NULL:
            return NULL
        frame.data = <uint8_t*>(frame + 1)
        frame.capacity = capacity
    frame.size = size
    frame.holders = 1
    atomic_add_64(&held_frames, 1)
    return frame


cdef void frame_hold(ReceivedFrame* frame) noexcept nogil:
    atomic_add_32(&frame.holders, 1)


cdef void frame_release(ReceivedFrame* frame) noexcept nogil:
    if atomic_add_32(&frame.holders, -1) != 0:
        return
    atomic_add_64(&held_frames, -1)
    if frame.capacity < <size_t>1 << SMALLEST_OCTAVE or class_of(frame.capacity) >= CLASSES or not give_free(frame):
        free(frame)


def live_frames():
    """Return how many responses of all clients in this process are held.

    It is 0 after every client is closed and its data is released.
    """
    return atomic_load_64(&held_frames)
