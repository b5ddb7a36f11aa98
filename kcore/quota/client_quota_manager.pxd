"""Client quotas for native code."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from kcore.platform.disk cimport Disk
from kcore.platform.sync cimport pthread_mutex_t
from kcore.quota.token_bucket cimport TokenBucket

cdef enum QuotaType:
    QUOTA_PRODUCE = 0            # bytes per second
    QUOTA_FETCH = 1              # bytes per second
    QUOTA_REQUEST = 2            # percent of one thread's time
    QUOTA_CONTROLLER_MUTATION = 3    # partitions per second

cdef enum:
    QUOTA_TYPES = 4

# What a quota measures together: a user, a client id, or a client id of a user.
cdef struct QuotaSensor:
    int32_t references           # clients that use this sensor
    double bound
    TokenBucket bucket
    size_t key_size              # the key follows the structure

# One client id of one user.
cdef struct QuotaClient:
    QuotaClient* next_in_bucket
    QuotaClient* older           # less recently used
    QuotaClient* newer
    uint64_t hash
    int32_t pins
    bint detached                # not in the table any more: the last unpin frees it
    int64_t last_used_ms
    int64_t revision             # of the limits for which `sensors` were chosen
    QuotaSensor* sensors[4]      # by QuotaType; NULL if no quota applies
    int32_t user_size
    int32_t client_id_size       # both names follow the structure

cdef class ClientQuotaManager:
    cdef Disk disk
    cdef pthread_mutex_t lock
    cdef int32_t enabled         # bit n: there are quotas of QuotaType n
    cdef int64_t window_ms
    cdef int64_t memory_ms       # length of all windows together
    cdef int64_t[4] burst_ms     # by QuotaType: after inactivity, a burst may use the amount of this time
    cdef unordered_map[string, double] limits
    cdef unordered_map[string, QuotaSensor*] sensors
    cdef int64_t revision
    cdef QuotaClient** buckets
    cdef QuotaClient* oldest
    cdef QuotaClient* newest
    cdef int32_t clients

    # Whether any quota of this type is set. If not, skip everything else.
    cdef bint is_enabled(self, QuotaType type) noexcept nogil
    # The clock of all measurements.
    cdef int64_t now_ns(self) noexcept nogil
    cdef int64_t now_ms(self) noexcept nogil
    # Pins a client, which may be charged until unpin. NULL if memory is exhausted.
    cdef QuotaClient* pin(self, const uint8_t* user, int32_t user_size, const uint8_t* client_id,
                          int32_t client_id_size) noexcept nogil
    cdef void unpin(self, QuotaClient* client) noexcept nogil
    # Charges an amount. Returns for how many milliseconds to throttle the client.
    cdef int64_t charge(self, QuotaClient* client, QuotaType type, double amount, int64_t now_ms) noexcept nogil
    # Charges an amount only if the quota is not exceeded. Otherwise charges nothing and returns a positive number: the
    # milliseconds until the quota is no longer exceeded, or for a fetch until its turn. A client that has not exceeded
    # its quota may exceed it once by any amount.
    cdef int64_t charge_strictly(self, QuotaClient* client, QuotaType type, double amount,
                                 int64_t now_ms) noexcept nogil
    # The amount left in the quota, but at least that of one window. Infinite without a quota.
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
