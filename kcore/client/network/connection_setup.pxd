"""How a connection comes to stand: name, address, TCP, handshake, ApiVersions."""

from libc.stdint cimport int32_t, int64_t
from kcore.client.network.connection cimport BrokerConnection

# Another address for the broker, which counts from the next connection on; under the client's lock.
cdef void setup_address(BrokerConnection* connection, const char* host, int32_t port) noexcept nogil
# Begins to connect: afterwards it is in setup, or it has failed and is disconnected.
cdef void setup_begin(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# Goes on after its descriptor became ready.
cdef void setup_progress(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# This address is of no use (`failure` says why): the next one is tried, or the connection ends.
cdef void setup_failed(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# Gives an address up that takes too long.
cdef void setup_expire(BrokerConnection* connection, int64_t now_ns) noexcept nogil
