"""The members of stable groups with the time of each one's last heartbeat. It answers heartbeats without Python.

A shard publishes a group here, with its generation and members, while the group is Stable. In this state, a heartbeat
of a member in that generation is answered NONE and only extends the member's session. The shard withdraws the group
before any response shows a change (`live_sessions.py`), and reads the times of heartbeats before it ends a session. So
a heartbeat that was answered here happened before the change, as if it had held the shard's lock.

All other heartbeats (another generation or instance, a group that rebalances or is unknown) go to the shard. Heartbeats
add no entries: the size of the table is that of the published groups.

Concurrency: one mutex, held for two lookups or for the exchange of a pointer. Neither the GIL nor another lock is taken
under it.
"""

from cython.operator cimport dereference, preincrement
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map

from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, clock_gettime, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
    timespec,
)

cdef cppclass Session:
    bint is_static
    string instance_id
    int64_t heard_ms


cdef cppclass StableGroup:
    int64_t owner
    int32_t generation_id
    unordered_map[string, Session] members


ctypedef unordered_map[string, StableGroup*] Groups


cdef class SessionTable:
    """The sessions of a coordinator. `start_ms` is the wall-clock time at which `now_ms` starts."""

    def __cinit__(self, int64_t start_ms=0):
        pthread_mutex_init(&self.lock, NULL)
        self.groups = new Groups()
        self.ahead_ms = 0
        self.ahead_ms = start_ms - self.clock_ms()

    def __dealloc__(self):
        cdef Groups* groups = <Groups*>self.groups
        cdef Groups.iterator place
        if groups != NULL:
            place = groups.begin()
            while place != groups.end():
                free_group(dereference(place).second)
                preincrement(place)
        del groups
        pthread_mutex_destroy(&self.lock)

    cdef int64_t clock_ms(self) noexcept nogil:
        cdef timespec now
        clock_gettime(CLOCK_MONOTONIC, &now)
        return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1000000 + self.ahead_ms

    def now_ms(self) -> int:
        """Milliseconds since the epoch by a monotonic clock that starts at `start_ms`."""
        return self.clock_ms()

    cdef bint hear(self, const SignOfLife* sign, int64_t now_ms) noexcept nogil:
        cdef Session* session
        pthread_mutex_lock(&self.lock)
        session = session_of(<Groups*>self.groups, sign)
        if session != NULL and session.heard_ms < now_ms:
            session.heard_ms = now_ms
        pthread_mutex_unlock(&self.lock)
        return session != NULL

    # --- Python -----------------------------------------------------------------------------------------------------

    def publish(self, str group_id not None, int64_t owner, int32_t generation_id, members) -> None:
        """Answers heartbeats of these members in this generation from now on. Replaces a published group of this name.

        `members` yields (member id, instance id or None). No times of heartbeats are known at first. `owner` is a
        number that `withdraw` must repeat.
        """
        cdef string key = group_id.encode()
        cdef StableGroup* group = new StableGroup()
        cdef StableGroup* earlier
        cdef Session session
        try:
            group.owner = owner
            group.generation_id = generation_id
            session.heard_ms = NOT_HEARD_OF
            for member_id, instance_id in members:
                session.is_static = instance_id is not None
                session.instance_id = b"" if instance_id is None else (<str?>instance_id).encode()
                group.members[<string>(<str?>member_id).encode()] = session
        except BaseException:
            free_group(group)
            raise
        with nogil:
            pthread_mutex_lock(&self.lock)
            earlier = (<Groups*>self.groups)[0][key]
            (<Groups*>self.groups)[0][key] = group
            pthread_mutex_unlock(&self.lock)
            free_group(earlier)

    def withdraw(self, str group_id not None, int64_t owner) -> list[tuple[str, int]]:
        """Stops answering heartbeats of the group. Returns (member id, time of the last heartbeat) since `publish`."""
        cdef string key = group_id.encode()
        cdef StableGroup* group = NULL
        cdef Groups.iterator place
        cdef unordered_map[string, Session].iterator member
        with nogil:
            pthread_mutex_lock(&self.lock)
            place = (<Groups*>self.groups).find(key)
            if place != (<Groups*>self.groups).end() and dereference(place).second.owner == owner:
                group = dereference(place).second
                (<Groups*>self.groups).erase(place)
            pthread_mutex_unlock(&self.lock)
        heard = []
        if group != NULL:
            member = group.members.begin()
            while member != group.members.end():
                if dereference(member).second.heard_ms != NOT_HEARD_OF:
                    heard.append(((<bytes>dereference(member).first).decode(), dereference(member).second.heard_ms))
                preincrement(member)
            free_group(group)
        return heard

    def heard_ms(self, str group_id not None, str member_id not None) -> int | None:
        """The time of a member's last heartbeat here. None if it had none, or is not in the table."""
        cdef string key = group_id.encode()
        cdef string member_key = member_id.encode()
        cdef int64_t found = NOT_HEARD_OF
        cdef Groups.iterator place
        cdef unordered_map[string, Session].iterator member
        with nogil:
            pthread_mutex_lock(&self.lock)
            place = (<Groups*>self.groups).find(key)
            if place != (<Groups*>self.groups).end():
                member = dereference(place).second.members.find(member_key)
                if member != dereference(place).second.members.end():
                    found = dereference(member).second.heard_ms
            pthread_mutex_unlock(&self.lock)
        return None if found == NOT_HEARD_OF else found

    def beat(
        self, str group_id not None, str member_id not None, str instance_id, int32_t generation_id, int64_t now_ms
    ) -> bool:
        """Handles a heartbeat as a processor does. Returns whether it was answered here."""
        cdef bytes group = group_id.encode()
        cdef bytes member = member_id.encode()
        cdef bytes instance = b"" if instance_id is None else instance_id.encode()
        cdef SignOfLife sign
        cdef bint answered
        sign.group_id, sign.group_id_size = <const uint8_t*><const char*>group, <int32_t>len(group)
        sign.member_id, sign.member_id_size = <const uint8_t*><const char*>member, <int32_t>len(member)
        sign.instance_id, sign.instance_id_size = <const uint8_t*><const char*>instance, <int32_t>len(instance)
        if instance_id is None:
            sign.instance_id = NULL
        sign.generation_id = generation_id
        with nogil:
            answered = self.hear(&sign, now_ms)
        return answered

    def __len__(self) -> int:
        cdef size_t count
        with nogil:
            pthread_mutex_lock(&self.lock)
            count = (<Groups*>self.groups).size()
            pthread_mutex_unlock(&self.lock)
        return count


cdef void free_group(StableGroup* group) noexcept nogil:
    del group


cdef Session* session_of(Groups* groups, const SignOfLife* sign) noexcept nogil:
    """The session that a heartbeat extends, or NULL. The caller holds the table's lock."""
    cdef Groups.iterator place = groups.find(text(sign.group_id, sign.group_id_size))
    cdef unordered_map[string, Session].iterator member
    cdef Session* session
    if place == groups.end() or dereference(place).second.generation_id != sign.generation_id:
        return NULL
    member = dereference(place).second.members.find(text(sign.member_id, sign.member_id_size))
    if member == dereference(place).second.members.end():
        return NULL
    session = &dereference(member).second
    # A static member may omit its instance id. If it sends one, the id must match.
    if sign.instance_id != NULL and not (
            session.is_static and session.instance_id == text(sign.instance_id, sign.instance_id_size)):
        return NULL
    return session


cdef inline string text(const uint8_t* data, int32_t size) noexcept nogil:
    return string(<const char*>data, <size_t>size)
