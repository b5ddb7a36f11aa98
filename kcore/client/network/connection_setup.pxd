"""Setup of a connection: name resolution, TCP, handshake, ApiVersions."""

from libc.stdint cimport int32_t, int64_t
from kcore.client.network.connection cimport BrokerConnection

# Sets the broker's address for the next connection. Call it under the client's lock.
cdef void setup_address(BrokerConnection* connection, const char* host, int32_t port) noexcept nogil
# Begins to connect. Afterwards the connection is in setup, or has failed and is disconnected.
cdef void setup_begin(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# Continues after an event of its descriptor.
cdef void setup_progress(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# The current address has failed (see `failure`): tries the next one, or ends the connection.
cdef void setup_failed(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# Gives up an address when the setup timeout has passed.
cdef void setup_expire(BrokerConnection* connection, int64_t now_ns) noexcept nogil
