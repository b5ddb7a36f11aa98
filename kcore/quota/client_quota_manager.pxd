"""Quotas of clients, as the data plane charges them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from kcore.platform.disk cimport Disk
from kcore.platform.sync cimport pthread_mutex_t
from kcore.quota.token_bucket cimport TokenBucket

cdef enum QuotaType:
    QUOTA_PRODUCE = 0            # bytes a second
    QUOTA_FETCH = 1              # bytes a second
    QUOTA_REQUEST = 2            # percent of one thread's time
    QUOTA_CONTROLLER_MUTATION = 3    # partitions a second

cdef enum:
    QUOTA_TYPES = 4

# What is measured: of a user, of a client id, or of a client id of a user, as the quota that applies says.
cdef struct QuotaSensor:
    int32_t references           # of clients that are measured by it
    double bound
    TokenBucket bucket
    size_t key_size              # the bytes of its key follow

# One client id of one user.
cdef struct QuotaClient:
    QuotaClient* next_in_bucket
    QuotaClient* older           # less recently used
    QuotaClient* newer
    uint64_t hash
    int32_t pins
    bint detached                # out of the table: the last unpin frees it
    int64_t last_used_ms
    int64_t revision             # of the limits that `sensors` were chosen by
    QuotaSensor* sensors[4]      # by QuotaType; NULL where no quota applies
    int32_t user_size
    int32_t client_id_size       # both names follow

cdef class ClientQuotaManager:
    cdef Disk disk
    cdef pthread_mutex_t lock
    cdef int32_t enabled         # a bit for each QuotaType that has any quota
    cdef int64_t window_ms
    cdef int64_t memory_ms       # all windows
    cdef int64_t[4] burst_ms     # by QuotaType: how much time's worth may be used at once after silence
    cdef unordered_map[string, double] limits
    cdef unordered_map[string, QuotaSensor*] sensors
    cdef int64_t revision
    cdef QuotaClient** buckets
    cdef QuotaClient* oldest
    cdef QuotaClient* newest
    cdef int32_t clients

    # Whether any client has a quota of this type: nothing else needs to be asked if not.
    cdef bint is_enabled(self, QuotaType type) noexcept nogil
    # The clock that all of this is measured by.
    cdef int64_t now_ns(self) noexcept nogil
    cdef int64_t now_ms(self) noexcept nogil
    # A client to charge later, at any time until unpin; NULL without memory.
    cdef QuotaClient* pin(self, const uint8_t* user, int32_t user_size, const uint8_t* client_id,
                          int32_t client_id_size) noexcept nogil
    cdef void unpin(self, QuotaClient* client) noexcept nogil
    # Uses an amount and answers for how many milliseconds the client is to be throttled.
    cdef int64_t charge(self, QuotaClient* client, QuotaType type, double amount, int64_t now_ms) noexcept nogil
    # A positive answer means that it is refused, not that it was used: until when the quota is exceeded, and for a fetch
    # until its turn. Who has not exceeded it may do so once, however much it takes.
    cdef int64_t charge_strictly(self, QuotaClient* client, QuotaType type, double amount,
                                 int64_t now_ms) noexcept nogil
    # What may be used without exceeding the quota, and at least what comes back in a window; infinite without a quota.
    cdef double most_at_once(self, QuotaClient* client, QuotaType type, int64_t now_ms) noexcept nogil

    cdef QuotaClient* pin_named(self, str user, str client_id) except NULL
    cdef QuotaClient* find(self, uint64_t hash, const uint8_t* user, int32_t user_size, const uint8_t* client_id,
                           int32_t client_id_size) noexcept nogil
    cdef QuotaClient* add(self, uint64_t hash, const uint8_t* user, int32_t user_size, const uint8_t* client_id,
                          int32_t client_id_size, int64_t now_ms) noexcept nogil
    cdef void use(self, QuotaClient* client, int64_t now_ms) noexcept nogil
    cdef void link(self, QuotaClient* client) noexcept nogil
    cdef void unlink(self, QuotaClient* client) noexcept nogil
    cdef void evict(self, int64_t now_ms) noexcept nogil
    cdef void remove(self, QuotaClient* client) noexcept nogil
    cdef void free_client(self, QuotaClient* client) noexcept nogil
    cdef QuotaSensor* sensor_of(self, QuotaClient* client, QuotaType type) noexcept nogil
    cdef void choose_sensors(self, QuotaClient* client) noexcept nogil
    cdef QuotaSensor* choose(self, const QuotaClient* client, QuotaType type) noexcept nogil
    cdef QuotaSensor* sensor(self, const string& key, QuotaType type, double bound) noexcept nogil
    cdef void release(self, QuotaSensor* sensor) noexcept nogil
