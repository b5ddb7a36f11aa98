"""Fetch sessions for Python handlers: the sessions of the native path, by the rules of KIP-227.

A handler looks up and reads every partition of a session for each request; it does not use pins and watches. The native
path can continue such a session; it then checks every partition once.

Concurrency: requested partitions and results are copied, so that no Python object is used under a session's lock. Other
requests may use the session between `take_up_session` and `tell`; `tell` detects this by the epoch.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcpy

from kcore import errors
from kcore.errors cimport FETCH_SESSION_ID_NOT_FOUND, NONE, UNKNOWN_SERVER_ERROR
from kcore.platform.sync cimport pthread_mutex_lock, pthread_mutex_unlock
from kcore.server.fast_path.fetch_request cimport FetchPartition
from kcore.server.fast_path.fetch_session cimport (
    NO_ISOLATION, NO_SESSION, FetchSession, SessionPartition, next_epoch, session_ask, session_check,
    session_drop_forgotten, session_find, session_forget, session_new, session_release, session_tell,
)
from kcore.server.fast_path.session_cache cimport FetchSessionCache

# One partition, copied between Python objects and a session.
cdef struct Entry:
    const uint8_t* name          # borrowed from a bytes object or a Snapshot
    int32_t name_size
    uint64_t place
    FetchPartition asked
    int64_t high_watermark
    int64_t log_start_offset
    int64_t size_bytes
    int16_t error
    bint diverges
    bint is_news

# Copies of a session's partitions. `take_snapshot` sorts them by place.
cdef struct Snapshot:
    Entry* entries
    int32_t count
    uint8_t* names


cdef class HandlerSession:
    """A session during one of its requests, after its epoch was advanced."""

    cdef FetchSession* session   # holds a reference
    cdef int32_t expected_epoch
    cdef readonly int session_id
    cdef list asked

    def __dealloc__(self):
        cdef FetchSession* session = self.session
        if session != NULL:
            with nogil:
                session_release(session)

    def partitions(self):
        """The partitions that the session fetches, in its order.

        A list of (topic name or id, index, leader epoch, fetch offset, last fetched epoch, max bytes).
        """
        return self.asked
    def tell(self, list told not None):
        """Records what was read from each of `partitions`, in the same order.

        `told` lists (high watermark, log start offset, record bytes, error code, whether the logs diverge), with -1 for
        offsets that the response does not have. Returns a list of bool: whether the response must include the
        partition. Raises InvalidFetchSessionEpochError if a later request used the session first.
        """
        cdef Entry* entries = new_entries(self.asked)
        cdef int32_t count = len(self.asked)
        cdef bint expected
        try:
            fill_told(entries, told)
            with nogil:
                pthread_mutex_lock(&self.session.lock)
                expected = self.session.epoch == self.expected_epoch
                if expected:
                    tell_all(self.session, entries, count)
                pthread_mutex_unlock(&self.session.lock)
            if not expected:
                raise errors.InvalidFetchSessionEpochError
            return [bool(entries[position].is_news) for position in range(count)]
        finally:
            free(entries)


def take_up_session(FetchSessionCache sessions not None, int32_t session_id, int32_t epoch, bint by_id,
                    list asked not None, list forgotten not None):
    """Applies the next request of a session to it.

    `asked` has the shape of `HandlerSession.partitions`; `forgotten` lists (topic name or id, index). Returns a
    HandlerSession. Returns None if no partition is left; the session is then closed. Raises the KafkaError for an
    unknown session, for a wrong epoch, or if the session uses topic ids and the request uses names, or vice versa.
    """
    cdef Entry* entries = new_entries(asked)
    cdef Entry* dropped = NULL
    cdef int32_t count = len(asked)
    cdef int32_t dropped_count = len(forgotten)
    cdef int16_t error
    cdef bint is_empty = False
    cdef Snapshot snapshot
    cdef HandlerSession taken = HandlerSession.__new__(HandlerSession)
    snapshot.entries = NULL
    snapshot.names = NULL
    try:
        dropped = new_entries([(*one, -1, 0, -1, 0) for one in forgotten])
        with nogil:
            error = FETCH_SESSION_ID_NOT_FOUND
            taken.session = sessions.acquire(session_id)
            if taken.session != NULL:
                pthread_mutex_lock(&taken.session.lock)
                error = session_check(taken.session, epoch, by_id)
                if error == NONE and not update(taken.session, entries, count, dropped, dropped_count):
                    error = UNKNOWN_SERVER_ERROR
                is_empty = taken.session.count == 0
                if error == NONE and not is_empty and not sessions.touch(taken.session, taken.session.count):
                    error = FETCH_SESSION_ID_NOT_FOUND
                if error == NONE and not take_snapshot(taken.session, &snapshot):
                    error = UNKNOWN_SERVER_ERROR
                pthread_mutex_unlock(&taken.session.lock)
        if error != NONE:
            raise errors.by_code(error)
        if is_empty:
            sessions.remove_session(session_id)
            return None
        taken.session_id = session_id
        taken.expected_epoch = next_epoch(epoch)
        taken.asked = [asked_of(&snapshot.entries[position]) for position in range(snapshot.count)]
        return taken
    finally:
        free(entries)
        free(dropped)
        free(snapshot.entries)
        free(snapshot.names)


def open_session(FetchSessionCache sessions not None, bint by_id, bint privileged, list asked not None,
                 list told not None):
    """Opens a session after its full fetch. `privileged` is true for a follower.

    `asked` and `told` have the shapes of HandlerSession's. Returns the session id, or 0 if the cache has no room.
    """
    cdef Entry* entries = new_entries(asked)
    cdef int32_t count = len(asked)
    cdef int32_t id = NO_SESSION
    cdef FetchSession* session
    try:
        fill_told(entries, told)
        with nogil:
            if sessions.admits(privileged, count):
                session = session_new(by_id, privileged, count)
                if session != NULL and ask_all(session, entries, count):
                    tell_all(session, entries, count)
                    id = sessions.insert(session)
                elif session != NULL:
                    session_release(session)
    finally:
        free(entries)
    return id


cdef Entry* new_entries(list asked) except NULL:
    """Converts requested partitions to entries, which borrow the names. The caller frees the array."""
    cdef Entry* entries = <Entry*>calloc(max(1, len(asked)), sizeof(Entry))
    cdef Entry* entry = entries
    cdef bytes name
    if entries == NULL:
        raise MemoryError
    try:
        for name, index, leader_epoch, fetch_offset, last_fetched_epoch, max_bytes in asked:
            entry.name = <const uint8_t*><const char*>name
            entry.name_size = <int32_t>len(name)
            entry.asked.index = index
            entry.asked.leader_epoch = leader_epoch
            entry.asked.offset = fetch_offset
            entry.asked.last_fetched_epoch = last_fetched_epoch
            entry.asked.max_bytes = max_bytes
            entry += 1
    except BaseException:
        free(entries)
        raise
    return entries


cdef int fill_told(Entry* entries, list told) except -1:
    cdef Entry* entry = entries
    for high_watermark, log_start_offset, size_bytes, error, diverges in told:
        entry.high_watermark = high_watermark
        entry.log_start_offset = log_start_offset
        entry.size_bytes = size_bytes
        entry.error = error
        entry.diverges = diverges
        entry += 1
    return 0


cdef tuple asked_of(const Entry* entry):
    return ((<const char*>entry.name)[:entry.name_size], entry.asked.index, entry.asked.leader_epoch,
            entry.asked.offset, entry.asked.last_fetched_epoch, entry.asked.max_bytes)


# --- callers hold session.lock, or the session is not shared yet ------------------------------------------------------


cdef bint update(FetchSession* session, const Entry* asked, int32_t asked_count, const Entry* forgotten,
                 int32_t forgotten_count) noexcept nogil:
    cdef int32_t position
    if not ask_all(session, asked, asked_count):
        return False
    for position in range(forgotten_count):
        session_forget(session, forgotten[position].name, forgotten[position].name_size,
                       forgotten[position].asked.index)
    if forgotten_count > 0:
        session_drop_forgotten(session)
    session.epoch = next_epoch(session.epoch)
    session.isolation = NO_ISOLATION
    return True


cdef bint ask_all(FetchSession* session, const Entry* asked, int32_t count) noexcept nogil:
    cdef int32_t position
    for position in range(count):
        if session_ask(session, asked[position].name, asked[position].name_size, &asked[position].asked) == NULL:
            return False
    return True


cdef void tell_all(FetchSession* session, Entry* told, int32_t count) noexcept nogil:
    cdef int32_t position
    cdef SessionPartition* entry
    for position in range(count):
        entry = session_find(session, told[position].name, told[position].name_size, told[position].asked.index)
        if entry != NULL:
            told[position].is_news = session_tell(
                entry, told[position].high_watermark, told[position].log_start_offset, told[position].size_bytes,
                told[position].error, told[position].diverges)
    # The native path's set of active partitions is out of date.
    session.isolation = NO_ISOLATION


cdef bint take_snapshot(const FetchSession* session, Snapshot* out) noexcept nogil:
    """Copies the partitions in their order. Returns False if memory is exhausted."""
    cdef const SessionPartition* entry
    cdef Entry* copied
    cdef uint8_t* names
    cdef size_t size = 1
    cdef int32_t bucket
    for bucket in range(session.bucket_count):
        entry = session.buckets[bucket]
        while entry != NULL:
            size += entry.name_size
            entry = entry.next_in_bucket
    out.count = session.count
    out.entries = copied = <Entry*>calloc(max(1, session.count), sizeof(Entry))
    out.names = names = <uint8_t*>malloc(size)
    if copied == NULL or names == NULL:
        return False
    for bucket in range(session.bucket_count):
        entry = session.buckets[bucket]
        while entry != NULL:
            memcpy(names, entry.name, entry.name_size)
            copied.name = names
            copied.name_size = entry.name_size
            copied.place = entry.place
            copied.asked = entry.asked
            names += entry.name_size
            copied += 1
            entry = entry.next_in_bucket
    qsort(out.entries, out.count, sizeof(Entry), compare_places)
    return True


cdef int compare_places(const void* first, const void* second) noexcept nogil:
    return -1 if (<const Entry*>first).place < (<const Entry*>second).place else 1
