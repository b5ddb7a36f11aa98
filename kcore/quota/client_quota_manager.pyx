"""Quotas of users and client ids, charged without the GIL (ClientQuotaManager, KIP-13, KIP-55).

The most specific quota of a client applies, in the order of `LEVELS`. It also determines what is measured together: all
clients of a user, all users of a client id, or one client id of one user. Usage is measured with token buckets, which
are refilled at the rate of the quota (`token_bucket.pyx`). As in Kafka, a burst of bytes or request time is limited to
one window less than the measured time, and a burst of controller mutations to all of it (KIP-599).

Request time has been used already when it is charged. Therefore its throttle time is limited to one window, and the
deficit to the tokens of all windows together.

Limits are replaced as a whole. Each client then chooses its sensors again with its next charge. A sensor that stays
keeps its tokens or its deficit under the new limit.

Bounds: at most MAX_CLIENTS clients are kept. The least recently used client is removed for a new one, and each one
after EXPIRY_MS without a request. A sensor is removed with its last client.

Concurrency: one lock, the last in the lock order, held for a few hundred instructions. No other lock is taken under it.
If no quota of a type is set, callers skip it after one load (`is_enabled`).
"""

from cython.operator cimport dereference
from libc.math cimport HUGE_VAL
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from kcore.platform.disk cimport Disk
from kcore.platform.sync cimport (
    atomic_load_32, atomic_store_32, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock,
    pthread_mutex_unlock,
)
from kcore.quota.token_bucket cimport bucket_init, bucket_refill, bucket_turn_ms, bucket_wait_ms

PRODUCE = QUOTA_PRODUCE
FETCH = QUOTA_FETCH
REQUEST = QUOTA_REQUEST
CONTROLLER_MUTATION = QUOTA_CONTROLLER_MUTATION

# The principal of a connection without authentication (KafkaPrincipal.ANONYMOUS).
ANONYMOUS = "ANONYMOUS"

cdef enum:
    BUCKETS = 4096
    MAX_CLIENTS = 10_000
    EXPIRY_MS = 3600 * 1000      # InactiveSensorExpirationTimeSeconds
    LEVEL_COUNT = 8

# The part of a quota's entity for users, or for client ids.
cdef enum Scope:
    NO_NAME = 0
    DEFAULT_NAME = 1
    NAMED = 2

cdef struct Level:
    Scope user
    Scope client_id

cdef Level[8] LEVELS
LEVELS[0] = Level(NAMED, NAMED)
LEVELS[1] = Level(NAMED, DEFAULT_NAME)
LEVELS[2] = Level(NAMED, NO_NAME)
LEVELS[3] = Level(DEFAULT_NAME, NAMED)
LEVELS[4] = Level(DEFAULT_NAME, DEFAULT_NAME)
LEVELS[5] = Level(DEFAULT_NAME, NO_NAME)
LEVELS[6] = Level(NO_NAME, NAMED)
LEVELS[7] = Level(NO_NAME, DEFAULT_NAME)


cdef void put_name(string* key, Scope scope, const uint8_t* name, int32_t size) noexcept nogil:
    """Appends a scope and, if it has one, a name with its length, which makes keys unambiguous."""
    key.push_back(<char>scope)
    if scope == NAMED:
        key.append(<const char*>&size, sizeof(size))
        key.append(<const char*>name, <size_t>size)


cdef string make_key(QuotaType type, Scope user_scope, const uint8_t* user, int32_t user_size, Scope client_id_scope,
                     const uint8_t* client_id, int32_t client_id_size) noexcept nogil:
    cdef string key
    key.push_back(<char>type)
    put_name(&key, user_scope, user, user_size)
    put_name(&key, client_id_scope, client_id, client_id_size)
    return key


cdef uint64_t hash_bytes(uint64_t hash, const uint8_t* data, int32_t size) noexcept nogil:
    """FNV-1a."""
    cdef int32_t i
    for i in range(size):
        hash = (hash ^ data[i]) * <uint64_t>0x100000001b3
    return hash


cdef inline const uint8_t* user_of(const QuotaClient* client) noexcept nogil:
    return <const uint8_t*>(client + 1)


cdef inline const uint8_t* client_id_of(const QuotaClient* client) noexcept nogil:
    return <const uint8_t*>(client + 1) + client.user_size


cdef class ClientQuotaManager:
    """Usage is measured over `windows` of `window_s` seconds. Controller mutations have windows of their own."""

    def __cinit__(self):
        pthread_mutex_init(&self.lock, NULL)

    def __init__(self, Disk disk not None, int windows=11, int window_s=1, int mutation_windows=11,
                 int mutation_window_s=1):
        cdef int type
        if min(windows, window_s, mutation_windows, mutation_window_s) < 1:
            raise ValueError("windows are counted and measured from 1 on")
        self.disk = disk
        self.window_ms = <int64_t>1000 * window_s
        self.memory_ms = windows * self.window_ms
        for type in range(QUOTA_TYPES):
            self.burst_ms[type] = max(1, windows - 1) * self.window_ms
        self.burst_ms[<int>QUOTA_CONTROLLER_MUTATION] = <int64_t>1000 * mutation_windows * mutation_window_s
        self.buckets = <QuotaClient**>calloc(BUCKETS, sizeof(QuotaClient*))
        if self.buckets == NULL:
            raise MemoryError

    def __dealloc__(self):
        while self.oldest != NULL:
            self.remove(self.oldest)
        free(self.buckets)
        pthread_mutex_destroy(&self.lock)

    # --- limits ----------------------------------------------------------------------------------------------------

    def replace_limits(self, list limits not None) -> None:
        """Replaces all limits by (type, user, client id, limit). A name may be None (not part) or "" (the default)."""
        cdef unordered_map[string, double] replacement
        cdef int32_t enabled = 0
        cdef bytes user_bytes, client_id_bytes
        cdef int type
        for quota_type, user, client_id, limit in limits:
            type = quota_type
            if not 0 <= type < QUOTA_TYPES or (user is None and client_id is None):
                raise ValueError(f"no quota of type {type} for user {user!r} and client id {client_id!r}")
            user_bytes, client_id_bytes = (user or "").encode(), (client_id or "").encode()
            replacement[make_key(<QuotaType>type, scope_of(user), <const uint8_t*><const char*>user_bytes,
                                 <int32_t>len(user_bytes), scope_of(client_id),
                                 <const uint8_t*><const char*>client_id_bytes, <int32_t>len(client_id_bytes))] = limit
            enabled |= 1 << type
        with nogil:
            pthread_mutex_lock(&self.lock)
            self.limits.swap(replacement)
            self.revision += 1
            atomic_store_32(&self.enabled, enabled)
            pthread_mutex_unlock(&self.lock)

    cdef bint is_enabled(self, QuotaType type) noexcept nogil:
        return (atomic_load_32(&self.enabled) >> <int>type) & 1

    cdef int64_t now_ms(self) noexcept nogil:
        return self.now_ns() // 1000000

    cdef int64_t now_ns(self) noexcept nogil:
        return self.disk.operations.monotonic_ns(self.disk.operations.context)

    # --- clients ---------------------------------------------------------------------------------------------------

    cdef QuotaClient* pin(self, const uint8_t* user, int32_t user_size, const uint8_t* client_id,
                          int32_t client_id_size) noexcept nogil:
        cdef uint64_t hash = hash_bytes(hash_bytes(<uint64_t>0xcbf29ce484222325, user, user_size), client_id,
                                        client_id_size)
        cdef int64_t now_ms = self.now_ms()
        cdef QuotaClient* client
        if client_id == NULL:
            # A null client id is an empty one, as in Kafka.
            client_id = <const uint8_t*>b""
        pthread_mutex_lock(&self.lock)
        client = self.find(hash, user, user_size, client_id, client_id_size)
        if client == NULL:
            client = self.add(hash, user, user_size, client_id, client_id_size, now_ms)
        if client != NULL:
            client.pins += 1
            self.use(client, now_ms)
        pthread_mutex_unlock(&self.lock)
        return client

    cdef void unpin(self, QuotaClient* client) noexcept nogil:
        pthread_mutex_lock(&self.lock)
        client.pins -= 1
        if client.pins == 0 and client.detached:
            self.free_client(client)
        pthread_mutex_unlock(&self.lock)

    cdef QuotaClient* find(self, uint64_t hash, const uint8_t* user, int32_t user_size, const uint8_t* client_id,
                           int32_t client_id_size) noexcept nogil:
        cdef QuotaClient* client = self.buckets[hash % BUCKETS]
        while client != NULL:
            if (client.hash == hash and client.user_size == user_size and client.client_id_size == client_id_size
                    and memcmp(user_of(client), user, <size_t>user_size) == 0
                    and memcmp(client_id_of(client), client_id, <size_t>client_id_size) == 0):
                return client
            client = client.next_in_bucket
        return NULL

    cdef QuotaClient* add(self, uint64_t hash, const uint8_t* user, int32_t user_size, const uint8_t* client_id,
                          int32_t client_id_size, int64_t now_ms) noexcept nogil:
        cdef QuotaClient* client = <QuotaClient*>calloc(
            1, sizeof(QuotaClient) + <size_t>user_size + <size_t>client_id_size)
        if client == NULL:
            return NULL
        self.evict(now_ms)
        client.hash = hash
        client.user_size = user_size
        client.client_id_size = client_id_size
        client.revision = -1
        memcpy(<uint8_t*>user_of(client), user, <size_t>user_size)
        memcpy(<uint8_t*>client_id_of(client), client_id, <size_t>client_id_size)
        client.next_in_bucket = self.buckets[hash % BUCKETS]
        self.buckets[hash % BUCKETS] = client
        self.link(client)
        self.clients += 1
        return client

    cdef void use(self, QuotaClient* client, int64_t now_ms) noexcept nogil:
        client.last_used_ms = now_ms
        if self.newest != client:
            self.unlink(client)
            self.link(client)

    cdef void link(self, QuotaClient* client) noexcept nogil:
        """Links a client as the most recently used one."""
        client.newer = NULL
        client.older = self.newest
        if self.newest != NULL:
            self.newest.newer = client
        else:
            self.oldest = client
        self.newest = client

    cdef void unlink(self, QuotaClient* client) noexcept nogil:
        if client.older != NULL:
            client.older.newer = client.newer
        else:
            self.oldest = client.newer
        if client.newer != NULL:
            client.newer.older = client.older
        else:
            self.newest = client.older

    cdef void evict(self, int64_t now_ms) noexcept nogil:
        """Removes expired clients, and the least recently used one if there is no room for another."""
        while self.oldest != NULL and (self.clients >= MAX_CLIENTS
                                       or now_ms - self.oldest.last_used_ms >= EXPIRY_MS):
            self.remove(self.oldest)

    cdef void remove(self, QuotaClient* client) noexcept nogil:
        cdef QuotaClient** place = &self.buckets[client.hash % BUCKETS]
        while place[0] != client:
            place = &place[0].next_in_bucket
        place[0] = client.next_in_bucket
        self.unlink(client)
        self.clients -= 1
        client.detached = True
        if client.pins == 0:
            self.free_client(client)

    cdef void free_client(self, QuotaClient* client) noexcept nogil:
        cdef int type
        for type in range(QUOTA_TYPES):
            self.release(client.sensors[type])
        free(client)

    # --- sensors ---------------------------------------------------------------------------------------------------

    cdef QuotaSensor* sensor_of(self, QuotaClient* client, QuotaType type) noexcept nogil:
        if client.revision != self.revision:
            self.choose_sensors(client)
        return client.sensors[<int>type]

    cdef void choose_sensors(self, QuotaClient* client) noexcept nogil:
        cdef int type
        cdef QuotaSensor* chosen
        for type in range(QUOTA_TYPES):
            # Acquire the new sensor before the old one is released: if they are the same, it keeps its tokens.
            chosen = self.choose(client, <QuotaType>type)
            self.release(client.sensors[type])
            client.sensors[type] = chosen
        client.revision = self.revision

    cdef QuotaSensor* choose(self, const QuotaClient* client, QuotaType type) noexcept nogil:
        """A reference to the sensor of the most specific quota, or NULL if none applies."""
        cdef int i
        cdef unordered_map[string, double].iterator found
        cdef Scope user, client_id
        if not (self.enabled >> <int>type) & 1:
            return NULL
        for i in range(LEVEL_COUNT):
            found = self.limits.find(make_key(type, LEVELS[i].user, user_of(client), client.user_size,
                                              LEVELS[i].client_id, client_id_of(client), client.client_id_size))
            if found == self.limits.end():
                continue
            # A default quota applies to each name separately, not to all together.
            user = NO_NAME if LEVELS[i].user == NO_NAME else NAMED
            client_id = NO_NAME if LEVELS[i].client_id == NO_NAME else NAMED
            return self.sensor(make_key(type, user, user_of(client), client.user_size, client_id,
                                        client_id_of(client), client.client_id_size), type, dereference(found).second)
        return NULL

    cdef QuotaSensor* sensor(self, const string& key, QuotaType type, double bound) noexcept nogil:
        cdef unordered_map[string, QuotaSensor*].iterator found = self.sensors.find(key)
        cdef QuotaSensor* sensor
        if found != self.sensors.end():
            sensor = dereference(found).second
        else:
            sensor = <QuotaSensor*>calloc(1, sizeof(QuotaSensor) + key.size())
            if sensor == NULL:
                return NULL
            sensor.key_size = key.size()
            memcpy(<void*>(sensor + 1), key.data(), key.size())
            bucket_init(&sensor.bucket)
            self.sensors[key] = sensor
        sensor.references += 1
        sensor.bound = bound
        return sensor

    cdef void release(self, QuotaSensor* sensor) noexcept nogil:
        cdef string key
        if sensor == NULL:
            return
        sensor.references -= 1
        if sensor.references == 0:
            key.assign(<const char*>(sensor + 1), sensor.key_size)
            self.sensors.erase(key)
            free(sensor)

    # --- charging --------------------------------------------------------------------------------------------------

    cdef int64_t charge(self, QuotaClient* client, QuotaType type, double amount, int64_t now_ms) noexcept nogil:
        cdef QuotaSensor* sensor
        cdef int64_t throttle_ms = 0
        pthread_mutex_lock(&self.lock)
        sensor = self.sensor_of(client, type)
        if sensor != NULL:
            bucket_refill(&sensor.bucket, sensor.bound, self.burst_ms[<int>type], now_ms)
            sensor.bucket.tokens -= amount
            if type == QUOTA_REQUEST:
                sensor.bucket.tokens = max(sensor.bucket.tokens, -sensor.bound * self.memory_ms / 1000)
            throttle_ms = wait_of(sensor, type)
        pthread_mutex_unlock(&self.lock)
        return min(throttle_ms, self.window_ms) if type == QUOTA_REQUEST else throttle_ms

    cdef int64_t charge_strictly(self, QuotaClient* client, QuotaType type, double amount,
                                 int64_t now_ms) noexcept nogil:
        cdef QuotaSensor* sensor
        cdef int64_t throttle_ms = 0
        pthread_mutex_lock(&self.lock)
        sensor = self.sensor_of(client, type)
        if sensor != NULL:
            bucket_refill(&sensor.bucket, sensor.bound, self.burst_ms[<int>type], now_ms)
            throttle_ms = wait_of(sensor, type)
            if throttle_ms == 0:
                sensor.bucket.tokens -= amount
            elif type == QUOTA_FETCH:
                # A fetch is repeated after its throttle time, so it gets a turn. A mutation may not be repeated.
                throttle_ms = bucket_turn_ms(&sensor.bucket, sensor.bound, amount, self.burst_ms[<int>type], now_ms)
        pthread_mutex_unlock(&self.lock)
        return throttle_ms

    cdef double most_at_once(self, QuotaClient* client, QuotaType type, int64_t now_ms) noexcept nogil:
        cdef QuotaSensor* sensor
        cdef double most = HUGE_VAL
        pthread_mutex_lock(&self.lock)
        sensor = self.sensor_of(client, type)
        if sensor != NULL:
            bucket_refill(&sensor.bucket, sensor.bound, self.burst_ms[<int>type], now_ms)
            most = max(sensor.bucket.tokens, sensor.bound * self.window_ms / 1000)
        pthread_mutex_unlock(&self.lock)
        return most

    # --- Python ----------------------------------------------------------------------------------------------------

    cdef QuotaClient* pin_named(self, str user, str client_id) except NULL:
        cdef bytes user_bytes = user.encode()
        cdef bytes client_id_bytes = (client_id or "").encode()
        cdef const uint8_t* user_data = <const uint8_t*><const char*>user_bytes
        cdef const uint8_t* client_id_data = <const uint8_t*><const char*>client_id_bytes
        cdef int32_t user_size = <int32_t>len(user_bytes)
        cdef int32_t client_id_size = <int32_t>len(client_id_bytes)
        cdef QuotaClient* client
        with nogil:
            client = self.pin(user_data, user_size, client_id_data, client_id_size)
        if client == NULL:
            raise MemoryError
        return client

    def enables(self, int type) -> bool:
        """Whether any quota of this type is set."""
        return self.is_enabled(<QuotaType>type)

    def charge_client(self, int type, str user, str client_id, double amount, now_ms=None, bint strictly=False) -> int:
        """Charges bytes, percent of a second, or partitions. Returns for how many milliseconds to throttle the client.

        With `strictly`, a client that has exceeded its quota is not charged. Other clients may exceed it once.
        """
        cdef QuotaClient* client
        cdef int64_t now = self.now_ms() if now_ms is None else now_ms
        cdef int64_t throttle_ms
        if not self.enables(type):
            return 0
        client = self.pin_named(user, client_id)
        with nogil:
            if strictly:
                throttle_ms = self.charge_strictly(client, <QuotaType>type, amount, now)
            else:
                throttle_ms = self.charge(client, <QuotaType>type, amount, now)
            self.unpin(client)
        return throttle_ms

    def most_at_once_for(self, int type, str user, str client_id, now_ms=None) -> float:
        """The maximum size of a response: see `most_at_once`. Infinite without a quota."""
        cdef QuotaClient* client
        cdef int64_t now = self.now_ms() if now_ms is None else now_ms
        cdef double most
        if not self.enables(type):
            return HUGE_VAL
        client = self.pin_named(user, client_id)
        with nogil:
            most = self.most_at_once(client, <QuotaType>type, now)
            self.unpin(client)
        return most

    def tokens_of(self, int type, str user, str client_id, now_ms=None) -> tuple[float, float] | None:
        """The client's tokens, negative in deficit, and its quota. None if no quota applies."""
        cdef QuotaClient* client
        cdef QuotaSensor* sensor
        cdef int64_t now = self.now_ms() if now_ms is None else now_ms
        cdef double tokens = 0, bound = 0
        client = self.pin_named(user, client_id)
        with nogil:
            pthread_mutex_lock(&self.lock)
            sensor = self.sensor_of(client, <QuotaType>type)
            if sensor != NULL:
                bucket_refill(&sensor.bucket, sensor.bound, self.burst_ms[type], now)
                tokens = sensor.bucket.tokens
                bound = sensor.bound
            pthread_mutex_unlock(&self.lock)
            self.unpin(client)
        return None if sensor == NULL else (tokens, bound)

    @property
    def client_count(self) -> int:
        """Number of clients in the table."""
        cdef int32_t count
        with nogil:
            pthread_mutex_lock(&self.lock)
            count = self.clients
            pthread_mutex_unlock(&self.lock)
        return count

    @property
    def sensor_count(self) -> int:
        """Number of sensors."""
        cdef size_t count
        with nogil:
            pthread_mutex_lock(&self.lock)
            count = self.sensors.size()
            pthread_mutex_unlock(&self.lock)
        return count


cdef int64_t wait_of(const QuotaSensor* sensor, QuotaType type) noexcept nogil:
    cdef int64_t wait_ms = bucket_wait_ms(&sensor.bucket, sensor.bound)
    if type == QUOTA_CONTROLLER_MUTATION and sensor.bucket.tokens < 0:
        # A wait of less than half a millisecond must not round to 0, which means no throttling.
        wait_ms = max(<int64_t>1, wait_ms)
    return wait_ms


cdef Scope scope_of(str name):
    if name is None:
        return NO_NAME
    return NAMED if name else DEFAULT_NAME
