"""Fetch sessions of the client (KIP-227, Kafka's FetchSessionHandler): chooses the partitions that a request names.

A full request (epoch 0) names all partitions and requests a session. If the broker creates one, later requests have its
id and an incremented epoch. They name only partitions that are new, that have another position or leader epoch, or that
are removed. If the broker creates none (id 0), or has a version below 7, every request is full. No I/O and no lock: the
fetcher's mutex is held.
"""

from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t
from libc.stdlib cimport calloc, free, realloc
from kcore.client.consumer.fetch_request cimport (
    FETCH_KEY, FIRST_VERSION_WITH_SESSION, INITIAL_SESSION_EPOCH, LAST_FETCH_VERSION_BY_NAME, NO_SESSION, FetchTerms,
    begin_fetch_request, begin_forgotten_topics, end_fetch_request, end_fetch_topic, put_fetch_partition,
    put_fetch_topic, put_forgotten_partition,
)
from kcore.errors cimport FETCH_SESSION_ID_NOT_FOUND, NONE
from kcore.protocol.output cimport output_free

cdef enum:
    FIRST_CAPACITY = 16

# Targets grouped by topic, in the order of addition.
cdef struct Grouping:
    int64_t mark
    FetchTopic* first
    FetchTopic* last
    int32_t topic_count


cdef FetchSession* new_fetch_session(int32_t node) noexcept nogil:
    cdef FetchSession* session = <FetchSession*>calloc(1, sizeof(FetchSession))
    if session != NULL:
        session.node = node
        session.request.node = node
        session.request.api_key = FETCH_KEY
        session.request.expects_reply = True
        session.request.parts = &session.part
        session.request.part_count = 1
        session.request.context = session
    return session


cdef void free_fetch_session(FetchSession* session) noexcept nogil:
    free(session.members)
    free(session.forgotten)
    free(session.wanted)
    output_free(&session.frame)
    free(session)


cdef bint grow(void** array, int32_t* capacity, int32_t count, size_t item_size) noexcept nogil:
    """Make room for one more item after `count` items."""
    cdef int32_t wanted
    cdef void* grown
    if count < capacity[0]:
        return True
    wanted = max(<int32_t>FIRST_CAPACITY, 2 * capacity[0])
    grown = realloc(array[0], <size_t>wanted * item_size)
    if grown == NULL:
        return False
    array[0] = grown
    capacity[0] = wanted
    return True


cdef bint want(FetchSession* session, FetchTarget* target) noexcept nogil:
    if not grow(<void**>&session.wanted, &session.wanted_capacity, session.wanted_count, sizeof(FetchTarget*)):
        return False
    session.wanted[session.wanted_count] = target
    session.wanted_count += 1
    return True


# --- members ---------------------------------------------------------------------------------------------------------


cdef SessionMember* member_of(FetchSession* session, FetchTarget* target) noexcept nogil:
    cdef SessionMember* member
    if target.session != session:
        return NULL
    member = &session.members[target.member]
    return member if member.generation == target.generation and target.is_assigned else NULL


cdef void drop_members(FetchSession* session) noexcept nogil:
    cdef int32_t i
    for i in range(session.member_count):
        if session.members[i].target.session == session:
            session.members[i].target.session = NULL
    session.member_count = 0


cdef bint forget_unwanted(FetchSession* session) noexcept nogil:
    """Remove members that are not wanted any more, or that are fetched from another node now."""
    cdef SessionMember* member
    cdef FetchTarget* target
    cdef int32_t i = 0
    while i < session.member_count:
        target = session.members[i].target
        if target.session == session and target.wanted == session.round:
            i += 1
            continue
        if not grow(<void**>&session.forgotten, &session.forgotten_capacity, session.forgotten_count,
                    sizeof(FetchTarget*)):
            return False
        session.forgotten[session.forgotten_count] = target
        session.forgotten_count += 1
        if target.session == session:
            target.session = NULL
        session.member_count -= 1
        member = &session.members[session.member_count]
        session.members[i] = member[0]
        if i < session.member_count and session.members[i].target.session == session:
            session.members[i].target.member = i
    return True


cdef bint is_news(FetchSession* session, FetchTarget* target) noexcept nogil:
    """Return whether the request must name a wanted target. Updates the member to the target's state."""
    cdef SessionMember* member = &session.members[target.member]
    cdef bint news = (
        member.offset != target.fetch_offset
        or member.leader_epoch != target.leader_epoch
        or member.fetched_epoch != target.fetched_epoch
    )
    member.generation = target.generation
    member.offset = target.fetch_offset
    member.leader_epoch = target.leader_epoch
    member.fetched_epoch = target.fetched_epoch
    return news


cdef bint join_session(FetchSession* session, FetchTarget* target) noexcept nogil:
    cdef SessionMember* member
    if not grow(<void**>&session.members, &session.member_capacity, session.member_count, sizeof(SessionMember)):
        return False
    member = &session.members[session.member_count]
    member.target = target
    target.session = session
    target.member = session.member_count
    session.member_count += 1
    is_news(session, target)
    return True


# --- requests --------------------------------------------------------------------------------------------------------


cdef void add_to_group(Grouping* grouping, FetchTarget* target) noexcept nogil:
    cdef FetchTopic* topic = target.topic
    target.next_in_group = NULL
    if topic.group != grouping.mark:
        topic.group = grouping.mark
        topic.next_in_group = NULL
        topic.first_in_group = target
        topic.group_count = 0
        if grouping.first == NULL:
            grouping.first = topic
        else:
            grouping.last.next_in_group = topic
        grouping.last = topic
        grouping.topic_count += 1
    else:
        topic.last_in_group.next_in_group = target
    topic.last_in_group = target
    topic.group_count += 1


cdef Grouping begin_group(int64_t* group) noexcept nogil:
    cdef Grouping grouping
    group[0] += 1
    grouping.mark = group[0]
    grouping.first = grouping.last = NULL
    grouping.topic_count = 0
    return grouping


cdef inline bint is_by_id(int16_t version) noexcept nogil:
    return version > LAST_FETCH_VERSION_BY_NAME


cdef bint write_session_request(FetchSession* session, int16_t version, const FetchTerms* terms, int32_t max_bytes,
                                int32_t partition_max_bytes, int64_t* group) noexcept nogil:
    cdef Grouping told = begin_group(group)
    cdef Grouping forgotten
    cdef FetchTarget* target
    cdef int32_t i
    if session.must_restart or is_by_id(version) != is_by_id(session.version):
        session.epoch = INITIAL_SESSION_EPOCH
        session.must_restart = False
    if version < FIRST_VERSION_WITH_SESSION or session.epoch == INITIAL_SESSION_EPOCH:
        drop_members(session)
    session.version = version
    session.round = group[0]
    session.forgotten_count = 0
    for i in range(session.wanted_count):
        session.wanted[i].wanted = session.round
    if not forget_unwanted(session):
        return False
    for i in range(session.wanted_count):
        target = session.wanted[i]
        if target.session == session:
            if is_news(session, target):
                add_to_group(&told, target)
        elif join_session(session, target):
            add_to_group(&told, target)
        else:
            return False
    begin_fetch_request(&session.frame, version, terms, max_bytes, session.id, session.epoch, told.topic_count)
    put_targets(session, version, partition_max_bytes, &told)
    # The targets of the first grouping are written, so their links can be reused.
    forgotten = begin_group(group)
    for i in range(session.forgotten_count):
        add_to_group(&forgotten, session.forgotten[i])
    put_forgotten(session, version, &forgotten)
    end_fetch_request(&session.frame, version, terms)
    session.part.iov_base = session.frame.data
    session.part.iov_len = session.frame.size
    session.request.api_version = version
    return not session.frame.failed


cdef void put_targets(FetchSession* session, int16_t version, int32_t partition_max_bytes,
                      const Grouping* told) noexcept nogil:
    cdef FetchTopic* topic = told.first
    cdef FetchTarget* target
    while topic != NULL:
        put_fetch_topic(&session.frame, version, topic.name, topic.name_size, topic.id, topic.group_count)
        target = topic.first_in_group
        while target != NULL:
            put_fetch_partition(&session.frame, version, target.index, target.leader_epoch, target.fetch_offset,
                                target.fetched_epoch, partition_max_bytes)
            target = target.next_in_group
        end_fetch_topic(&session.frame, version)
        topic = topic.next_in_group


cdef void put_forgotten(FetchSession* session, int16_t version, const Grouping* forgotten) noexcept nogil:
    cdef FetchTopic* topic = forgotten.first
    cdef FetchTarget* target
    if version < FIRST_VERSION_WITH_SESSION:
        return
    begin_forgotten_topics(&session.frame, version, forgotten.topic_count)
    while topic != NULL:
        put_fetch_topic(&session.frame, version, topic.name, topic.name_size, topic.id, topic.group_count)
        target = topic.first_in_group
        while target != NULL:
            put_forgotten_partition(&session.frame, target.index)
            target = target.next_in_group
        end_fetch_topic(&session.frame, version)
        topic = topic.next_in_group


# --- answers ---------------------------------------------------------------------------------------------------------


cdef void session_answered(FetchSession* session, int16_t error_code, int32_t session_id) noexcept nogil:
    if error_code == FETCH_SESSION_ID_NOT_FOUND:
        session.id = NO_SESSION
        session.epoch = INITIAL_SESSION_EPOCH
    elif error_code != NONE:
        session.epoch = INITIAL_SESSION_EPOCH
    elif session_id == NO_SESSION:
        session.id = NO_SESSION
        session.epoch = INITIAL_SESSION_EPOCH
    else:
        session.id = session_id
        session.epoch = 1 if session.epoch == INT32_MAX else session.epoch + 1


cdef void restart_session(FetchSession* session) noexcept nogil:
    session.must_restart = True
