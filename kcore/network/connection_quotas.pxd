"""Limits on the number of connections and on the rate of new ones."""

from libc.stdint cimport int32_t, int64_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from kcore.network.endpoint cimport Endpoint
from kcore.platform.disk cimport Disk
from kcore.platform.sync cimport pthread_mutex_t
from kcore.quota.token_bucket cimport TokenBucket

cdef enum ConnectionVerdict:
    CONNECTION_ADMITTED = 0
    CONNECTION_TOO_MANY = 1      # the address has too many: close it
    CONNECTION_TOO_SOON = 2      # the address connects too fast: close it after its throttle time

# The connections of one client address.
cdef struct AddressState:
    int64_t count
    bint is_measured             # `bucket` is in use: the address has had a rate limit
    TokenBucket bucket
    int64_t last_used_ms

cdef enum:
    BROKER_RATE = 64             # index after those of the listeners
    RATES = 65

cdef class ConnectionQuotas:
    cdef Disk disk
    cdef pthread_mutex_t lock
    cdef int64_t window_ms
    cdef int64_t memory_ms       # length of all windows together
    cdef int64_t burst_ms        # a burst may have the connections of this time
    cdef int wakeup              # the acceptor's eventfd; -1 before there is one
    cdef bint acceptor_waits     # for a connection to end
    cdef int32_t protected_listener  # ignores the broker's limit; -1 for none
    cdef int64_t max_total
    cdef int64_t[64] max_of_listener
    cdef int64_t max_of_address
    cdef double[65] max_rates
    cdef double max_address_rate
    cdef unordered_map[string, int64_t] address_overrides
    cdef unordered_map[string, double] address_rate_overrides
    cdef int64_t total
    cdef int64_t[64] of_listener
    cdef int64_t claimed         # excess connections that processors are about to close
    cdef int32_t exceeded        # whether there are more than max_total; processors read it
    cdef TokenBucket[65] buckets
    cdef unordered_map[string, AddressState] addresses

    # Called on the acceptor's thread.
    cdef bint limits_rate(self, int32_t listener) noexcept nogil
    # Counts a connection that is about to be accepted. Returns how many milliseconds it must wait.
    cdef int64_t count_attempt(self, int32_t listener) noexcept nogil
    # Takes back the last count_attempt: there was no connection.
    cdef void forget_attempt(self, int32_t listener) noexcept nogil
    # If this returns False, the acceptor's eventfd is written when the result may have changed.
    cdef bint has_slot(self, int32_t listener) noexcept nogil
    cdef ConnectionVerdict admit(self, int32_t listener, const Endpoint* client, int64_t* bound) noexcept nogil

    # Called on any thread.
    cdef void closed(self, int32_t listener, const Endpoint* client) noexcept nogil
    cdef bint is_exceeded(self) noexcept nogil
    # Whether the caller must close a connection of a listener other than `protected_listener`, and then call unclaim.
    cdef bint claim_excess(self) noexcept nogil
    cdef void unclaim(self) noexcept nogil

    cdef bint is_slot_free(self, int32_t listener) noexcept nogil
    cdef int64_t count_in(self, int index, int64_t now_ms) noexcept nogil
    cdef int64_t use_slot(self, TokenBucket* bucket, double bound, int64_t now_ms) noexcept nogil
    cdef AddressState* state_of(self, const string& address) noexcept nogil
    cdef void forget_addresses(self, int64_t now_ms, bint all_idle) noexcept nogil
    cdef double rate_of_address(self, const string& address) noexcept nogil
    cdef void note_excess(self) noexcept nogil
    cdef void wake_acceptor(self) noexcept nogil
