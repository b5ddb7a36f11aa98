"""One processor: an epoll loop with its share of the connections."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from kcore.network.connection cimport Connection
from kcore.network.connection_quotas cimport ConnectionQuotas
from kcore.network.connection_table cimport ConnectionTable
from kcore.network.dispatch cimport DispatchTable, Disposition, NativeRequest
from kcore.network.endpoint cimport Endpoint
from kcore.network.processor_inbox cimport Inbox, ProcessorMessage
from kcore.network.receive_buffer cimport BufferPool
from kcore.network.request_channel cimport RequestChannel
from kcore.network.request_log cimport RequestRing
from kcore.network.request_metrics cimport RequestMetrics
from kcore.network.response cimport Response
from kcore.network.selector cimport Selector
from kcore.network.throttle_queue cimport ThrottleQueue
from kcore.platform.disk cimport Disk, DiskOperations
from kcore.platform.epoll cimport epoll_event
from kcore.quota.client_quota_manager cimport ClientQuotaManager

cdef struct ProcessorLimits:
    int64_t max_request_bytes    # socket.request.max.bytes
    int64_t max_idle_ns          # connections.max.idle.ms; 0 or less: never
    int64_t buffer_idle_ns       # buffers unused for this long are returned to the system

# Written by the processor, read by any thread.
cdef struct ProcessorCounters:
    int64_t requests
    int64_t bytes_in
    int64_t bytes_out
    int64_t connections_opened
    int64_t connections_closed
    int64_t connections_idle_closed
    int64_t connections_refused  # closed for a violation of the protocol
    int64_t idle_ns              # time spent in epoll_wait

# The same, per listener.
cdef struct ListenerCounters:
    int64_t opened
    int64_t closed

# The result of executing a connection's buffered frames.
cdef enum Progress:
    PROGRESS_CLOSED = 0          # the connection is gone
    PROGRESS_PAUSED = 1          # muted, or no complete frame is buffered
    PROGRESS_MORE = 2            # complete frames are left: the turn is over, or responses must be sent first


cdef enum:
    MAX_LISTENERS = 64


cdef class Processor:
    cdef Inbox inbox
    cdef Selector selector
    cdef ConnectionTable table
    cdef ThrottleQueue throttled
    cdef BufferPool pool
    cdef ProcessorLimits limits
    cdef ProcessorCounters counters
    cdef ListenerCounters listener_counters[64]
    cdef RequestMetrics metrics
    cdef RequestRing log
    cdef RequestChannel channel
    cdef DispatchTable dispatch
    cdef ClientQuotaManager quotas
    cdef int64_t charged_ns      # time of the current turn that native handlers have charged to clients
    cdef Disk disk_owner
    cdef const DiskOperations* disk
    cdef list factory_owners
    cdef void* factories[64]     # StreamFactory by listener
    cdef int64_t* connection_count
    cdef ConnectionQuotas connection_quotas
    cdef int32_t draining
    cdef int64_t drain_deadline_ns
    cdef int64_t now_ns              # end of the last wait
    cdef int64_t waiting_since_ns    # read by other threads; 0 while there is work
    cdef int64_t clock_ns            # last reading of the clock
    cdef int64_t rested_ns           # last time it gave up its core, by waiting or in `give_way`
    cdef int64_t trim_due_ns
    cdef int64_t free_buffer_bytes   # of the pool; read by other threads
    cdef Response scratch        # filled by native handlers, reused for every request

    # Called on any thread.
    cdef void post_response(self, uint64_t connection, Response* response) noexcept nogil
    cdef void adopt(self, int socket, int32_t listener, const Endpoint* client, const Endpoint* local) noexcept nogil
    cdef void post_close(self, uint64_t connection) noexcept nogil
    cdef void drain(self, int64_t deadline_ns) noexcept nogil

    # The loop, on the processor's thread.
    cdef void loop(self) noexcept nogil
    cdef int64_t look_at_clock(self) noexcept nogil
    cdef int wait(self, epoll_event* events) noexcept nogil
    cdef void give_way(self) noexcept nogil
    cdef int wait_timeout_ms(self, int64_t now_ns) noexcept nogil
    cdef void on_event(self, const epoll_event* event) noexcept nogil
    cdef void on_message(self, ProcessorMessage* message) noexcept nogil
    cdef void register(self, ProcessorMessage* message) noexcept nogil
    cdef void take_messages(self) noexcept nogil
    cdef void serve_ready(self) noexcept nogil
    cdef void retry_stalled(self) noexcept nogil
    cdef void resume_granted(self) noexcept nogil
    cdef void resume_throttled(self) noexcept nogil
    cdef void close_idle(self) noexcept nogil
    cdef void close_excess(self) noexcept nogil
    cdef void trim_buffers(self) noexcept nogil
    cdef bint is_drained(self) noexcept nogil
    cdef void close_everything(self) noexcept nogil

    # One connection's turn.
    cdef void serve(self, Connection* connection) noexcept nogil
    cdef bint take_turn(self, Connection* connection) noexcept nogil
    cdef bint receive(self, Connection* connection, int64_t* received_in_turn) noexcept nogil
    cdef void wait_for_memory(self, Connection* connection) noexcept nogil
    cdef Progress execute_buffered(self, Connection* connection, int* frames) noexcept nogil
    cdef bint execute(self, Connection* connection, uint8_t* frame, size_t size) noexcept nogil
    cdef Disposition ask_native_handler(self, NativeRequest* request) noexcept nogil
    cdef bint hand_over(self, Connection* connection, const NativeRequest* request) noexcept nogil
    cdef bint enqueue(self, Connection* connection, Response* response) noexcept nogil
    cdef bint flush(self, Connection* connection) noexcept nogil
    cdef void answered(self, Connection* connection, const Response* response) noexcept nogil
    cdef void queue_timing(self, Connection* connection) noexcept nogil
    cdef void settle_timings(self, Connection* connection) noexcept nogil
    cdef void end_timings(self, Connection* connection, int64_t bytes_sent) noexcept nogil
    cdef void refuse(self, Connection* connection, const char* rule, int64_t first, int64_t second) noexcept nogil
    cdef void shake_hands(self, Connection* connection) noexcept nogil
    cdef void arm(self, Connection* connection) noexcept nogil
    cdef void set_interest(self, Connection* connection, uint32_t interest) noexcept nogil
    cdef void close(self, Connection* connection) noexcept nogil
