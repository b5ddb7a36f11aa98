"""ConnectionQuotas: limits on connections per broker, listener and client address (KIP-402, KIP-612).

When the broker or a listener has `max.connections` open, the listener accepts no more until a connection ends. Clients
wait in its backlog. With several listeners, the inter-broker listener ignores the broker's limit. If this, or a lowered
limit, makes the broker exceed its limit, connections of other listeners are closed, those idle for longest first. A
listener also waits if its connections come faster than `max.connection.creation.rate`.

A client over `max.connections.per.ip` is closed at once. A client over the rate of its address
(`connection_creation_rate`) is not served, and closed after its throttle time, which slows down its retries.

Rates use token buckets, as client quotas do (`kcore/quota/token_bucket.pyx`). No wait is longer than a window. The
deficit of a bucket is limited to the tokens of all windows together.

Bounds: there are at most about MAX_ADDRESSES addresses. When there are more, addresses without connections are dropped:
first those whose tokens have all been refilled, then all of them.

Concurrency: one lock, held for a few hundred instructions, under which no other lock is taken. Only the acceptor
admits.
"""

from cython.operator cimport dereference, preincrement
from libc.math cimport HUGE_VAL
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memcpy, memset
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from kcore.network.endpoint cimport Endpoint
from kcore.platform.disk cimport Disk
from kcore.platform.epoll cimport eventfd_write
from kcore.platform.sync cimport (
    atomic_load_32, atomic_store_32, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock,
    pthread_mutex_unlock,
)
from kcore.quota.token_bucket cimport TokenBucket, bucket_init, bucket_refill, bucket_wait_ms

cdef extern from "<arpa/inet.h>" nogil:
    int inet_pton(int family, const char* text, void* out)

cdef extern from "<sys/socket.h>" nogil:
    enum:
        AF_INET
        AF_INET6

cdef enum:
    MAX_LISTENERS = 64
    MAX_ADDRESSES = 10_000


cdef string address_key(const Endpoint* client) noexcept nogil:
    """The family and the address, without the port."""
    cdef string key
    key.push_back(<char>client.family)
    key.append(<const char*>client.address, 4 if client.family == AF_INET else 16)
    return key


cdef string parsed_key(str text) except *:
    cdef Endpoint endpoint
    cdef bytes name = text.encode("ascii")
    memset(&endpoint, 0, sizeof(endpoint))
    endpoint.family = AF_INET6 if ":" in text else AF_INET
    if inet_pton(endpoint.family, <const char*>name, endpoint.address) != 1:
        raise ValueError(f"{text!r} is no address")
    return address_key(&endpoint)


cdef class ConnectionQuotas:
    """Connection limits, none at first. Rates are measured over `windows` of `window_s` seconds (quota.window.*)."""

    def __cinit__(self):
        pthread_mutex_init(&self.lock, NULL)
        self.wakeup = -1

    def __init__(self, Disk disk not None, int windows=11, int window_s=1):
        cdef int index
        self.disk = disk
        self.window_ms = <int64_t>1000 * window_s
        self.memory_ms = windows * self.window_ms
        self.burst_ms = max(1, windows - 1) * self.window_ms
        self.protected_listener = -1
        self.max_total = self.max_of_address = INT32_MAX
        self.max_address_rate = HUGE_VAL
        for index in range(MAX_LISTENERS):
            self.max_of_listener[index] = INT32_MAX
        for index in range(RATES):
            self.max_rates[index] = HUGE_VAL
            bucket_init(&self.buckets[index])

    def __dealloc__(self):
        pthread_mutex_destroy(&self.lock)

    # --- limits ----------------------------------------------------------------------------------------------------

    def set_limits(self, int64_t total, list of_listeners, int64_t of_address, list address_overrides,
                   int protected_listener=-1) -> None:
        """Sets the maximum open connections of the broker, of each listener by index, and of an address."""
        cdef unordered_map[string, int64_t] overrides
        cdef int64_t[64] of_listener
        cdef int index
        for index in range(MAX_LISTENERS):
            of_listener[index] = INT32_MAX
        for address, count in address_overrides:
            overrides[parsed_key(address)] = count
        for index in range(min(MAX_LISTENERS, <int>len(of_listeners))):
            of_listener[index] = of_listeners[index]
        with nogil:
            pthread_mutex_lock(&self.lock)
            self.max_total = total
            memcpy(self.max_of_listener, of_listener, sizeof(of_listener))
            self.max_of_address = of_address
            self.address_overrides.swap(overrides)
            atomic_store_32(&self.protected_listener, protected_listener)
            self.note_excess()
            self.wake_acceptor()
            pthread_mutex_unlock(&self.lock)

    def set_rates(self, total, list of_listeners) -> None:
        """Sets the maximum new connections per second of the broker and of each listener. None means no limit."""
        cdef int index
        cdef double[65] bounds
        for index in range(MAX_LISTENERS):
            bounds[index] = HUGE_VAL
        for index, bound in enumerate(of_listeners):
            bounds[index] = HUGE_VAL if bound is None else bound
        bounds[<int>BROKER_RATE] = HUGE_VAL if total is None else total
        with nogil:
            pthread_mutex_lock(&self.lock)
            memcpy(self.max_rates, bounds, sizeof(bounds))
            pthread_mutex_unlock(&self.lock)

    def set_address_rates(self, default, list overrides) -> None:
        """Sets the maximum new connections per second per address, with overrides. None means no limit."""
        cdef unordered_map[string, double] replacement
        cdef double bound = HUGE_VAL if default is None else default
        for address, rate in overrides:
            replacement[parsed_key(address)] = rate
        with nogil:
            pthread_mutex_lock(&self.lock)
            self.max_address_rate = bound
            self.address_rate_overrides.swap(replacement)
            pthread_mutex_unlock(&self.lock)

    # --- accepting -------------------------------------------------------------------------------------------------

    cdef bint limits_rate(self, int32_t listener) noexcept nogil:
        cdef bint limited
        pthread_mutex_lock(&self.lock)
        limited = self.max_rates[listener] < HUGE_VAL or self.max_rates[<int>BROKER_RATE] < HUGE_VAL
        pthread_mutex_unlock(&self.lock)
        return limited

    cdef int64_t count_attempt(self, int32_t listener) noexcept nogil:
        cdef int64_t now_ms = self.disk.operations.monotonic_ns(self.disk.operations.context) // 1000000
        cdef int64_t throttle_ms = 0
        pthread_mutex_lock(&self.lock)
        if listener != self.protected_listener:
            throttle_ms = self.count_in(BROKER_RATE, now_ms)
        throttle_ms = max(throttle_ms, self.count_in(listener, now_ms))
        pthread_mutex_unlock(&self.lock)
        return throttle_ms

    cdef int64_t count_in(self, int index, int64_t now_ms) noexcept nogil:
        if self.max_rates[index] == HUGE_VAL:
            return 0
        return self.use_slot(&self.buckets[index], self.max_rates[index], now_ms)

    cdef int64_t use_slot(self, TokenBucket* bucket, double bound, int64_t now_ms) noexcept nogil:
        bucket_refill(bucket, bound, self.burst_ms, now_ms)
        # Apply the lower bound first: then forget_attempt can give the token back.
        bucket.tokens = max(bucket.tokens, -bound * self.memory_ms / 1000) - 1
        return min(self.window_ms, bucket_wait_ms(bucket, bound))

    cdef void forget_attempt(self, int32_t listener) noexcept nogil:
        pthread_mutex_lock(&self.lock)
        if listener != self.protected_listener and self.max_rates[<int>BROKER_RATE] < HUGE_VAL:
            self.buckets[<int>BROKER_RATE].tokens += 1
        if self.max_rates[listener] < HUGE_VAL:
            self.buckets[listener].tokens += 1
        pthread_mutex_unlock(&self.lock)

    cdef bint is_slot_free(self, int32_t listener) noexcept nogil:
        if self.of_listener[listener] >= self.max_of_listener[listener]:
            return False
        return listener == self.protected_listener or self.total < self.max_total

    cdef bint has_slot(self, int32_t listener) noexcept nogil:
        cdef bint free
        pthread_mutex_lock(&self.lock)
        free = self.is_slot_free(listener)
        if not free:
            self.acceptor_waits = True
        pthread_mutex_unlock(&self.lock)
        return free

    cdef ConnectionVerdict admit(self, int32_t listener, const Endpoint* client, int64_t* bound) noexcept nogil:
        """Sets *bound on refusal: the connection limit of the address, or the milliseconds until the close."""
        cdef int64_t now_ms = self.disk.operations.monotonic_ns(self.disk.operations.context) // 1000000
        cdef string address = address_key(client)
        cdef ConnectionVerdict verdict = CONNECTION_ADMITTED
        cdef AddressState* state
        cdef double rate
        cdef unordered_map[string, int64_t].iterator override
        pthread_mutex_lock(&self.lock)
        if <int64_t>self.addresses.size() >= MAX_ADDRESSES and self.addresses.find(address) == self.addresses.end():
            self.forget_addresses(now_ms, False)
            self.forget_addresses(now_ms, <int64_t>self.addresses.size() >= MAX_ADDRESSES)
        state = self.state_of(address)
        state.last_used_ms = now_ms
        rate = self.rate_of_address(address)
        bound[0] = 0
        if rate < HUGE_VAL and not state.is_measured:
            state.is_measured = True
            bucket_init(&state.bucket)
        if rate < HUGE_VAL:
            bound[0] = self.use_slot(&state.bucket, rate, now_ms)
            if bound[0]:
                # Connections that are not served are not counted.
                state.bucket.tokens += 1
                verdict = CONNECTION_TOO_SOON
        if verdict == CONNECTION_ADMITTED:
            override = self.address_overrides.find(address)
            bound[0] = self.max_of_address if override == self.address_overrides.end() else dereference(override).second
            if state.count >= bound[0]:
                verdict = CONNECTION_TOO_MANY
        if verdict == CONNECTION_ADMITTED:
            state.count += 1
            self.total += 1
            self.of_listener[listener] += 1
            self.note_excess()
        elif state.count == 0 and not state.is_measured:
            self.addresses.erase(address)
        pthread_mutex_unlock(&self.lock)
        return verdict

    cdef AddressState* state_of(self, const string& address) noexcept nogil:
        return &self.addresses[address]

    cdef double rate_of_address(self, const string& address) noexcept nogil:
        cdef unordered_map[string, double].iterator override = self.address_rate_overrides.find(address)
        if override == self.address_rate_overrides.end():
            return self.max_address_rate
        return dereference(override).second

    cdef void forget_addresses(self, int64_t now_ms, bint all_idle) noexcept nogil:
        """Drops addresses without connections: those idle long enough to have all tokens back, or all."""
        cdef unordered_map[string, AddressState].iterator found = self.addresses.begin()
        cdef AddressState* state
        while found != self.addresses.end():
            state = &dereference(found).second
            if state.count == 0 and (all_idle or now_ms - state.last_used_ms >= self.memory_ms):
                found = self.addresses.erase(found)
            else:
                preincrement(found)

    # --- closing ---------------------------------------------------------------------------------------------------

    cdef void closed(self, int32_t listener, const Endpoint* client) noexcept nogil:
        cdef string address = address_key(client)
        cdef unordered_map[string, AddressState].iterator found
        cdef AddressState* state
        pthread_mutex_lock(&self.lock)
        self.total -= 1
        self.of_listener[listener] -= 1
        found = self.addresses.find(address)
        if found != self.addresses.end():
            state = &dereference(found).second
            state.count -= 1
            if state.count == 0 and not state.is_measured:
                self.addresses.erase(found)
        self.note_excess()
        if self.acceptor_waits:
            self.wake_acceptor()
        pthread_mutex_unlock(&self.lock)

    cdef void note_excess(self) noexcept nogil:
        atomic_store_32(&self.exceeded, self.total - self.claimed > self.max_total)

    cdef void wake_acceptor(self) noexcept nogil:
        self.acceptor_waits = False
        if self.wakeup >= 0:
            eventfd_write(self.wakeup, 1)

    cdef bint is_exceeded(self) noexcept nogil:
        return atomic_load_32(&self.exceeded) != 0

    cdef bint claim_excess(self) noexcept nogil:
        cdef bint claimed
        pthread_mutex_lock(&self.lock)
        claimed = self.total - self.claimed > self.max_total
        if claimed:
            self.claimed += 1
            self.note_excess()
        pthread_mutex_unlock(&self.lock)
        return claimed

    cdef void unclaim(self) noexcept nogil:
        pthread_mutex_lock(&self.lock)
        self.claimed -= 1
        self.note_excess()
        pthread_mutex_unlock(&self.lock)

    # --- Python ----------------------------------------------------------------------------------------------------

    @property
    def open_connections(self) -> int:
        """Number of open connections that were admitted."""
        cdef int64_t total
        with nogil:
            pthread_mutex_lock(&self.lock)
            total = self.total
            pthread_mutex_unlock(&self.lock)
        return total

    @property
    def known_addresses(self) -> int:
        """Number of addresses with a connection or a measured rate."""
        cdef int64_t count
        with nogil:
            pthread_mutex_lock(&self.lock)
            count = <int64_t>self.addresses.size()
            pthread_mutex_unlock(&self.lock)
        return count
