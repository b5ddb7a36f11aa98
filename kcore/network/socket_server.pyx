"""SocketServer: listeners, one acceptor, N processors, and the return path of responses.

Life cycle: `start` binds and serves. `stop_accepting` closes the listening sockets. `shutdown` lets the processors
finish requests in flight, up to its timeout, and ends them. Handler threads and purgatories must keep working until
`shutdown` has returned, because it waits for their responses. Later responses are dropped.

Concurrency: `respond` may be called from any thread without the GIL, and `resize` from any thread with it. Everything
else belongs to the thread that runs the broker. A connection stays with its processor, whose index is part of the
connection id. Therefore processors can be added while others work. Surplus processors get no new connections but keep
running.
"""

import threading

from libc.stdint cimport int32_t, int64_t, uint64_t
from kcore.network.acceptor cimport Acceptor
from kcore.network.connection_quotas cimport ConnectionQuotas
from kcore.network.connection_table cimport MAX_PROCESSORS, processor_of
from kcore.network.dispatch cimport DispatchTable
from kcore.network.processor cimport Processor
from kcore.network.request_channel cimport RequestChannel
from kcore.network.request_metrics cimport RequestErrors
from kcore.network.response cimport Response, response_free
from kcore.platform.disk cimport Disk
from kcore.platform.sync cimport atomic_load_32, atomic_load_64, atomic_store_32
from kcore.quota.client_quota_manager cimport ClientQuotaManager

from kcore.network.request_log import RequestRing
from kcore.network.request_metrics import ApiTotals, totals
from kcore.transport.plaintext import PlaintextFactory

COUNTERS = (
    "requests", "bytes_in", "bytes_out", "connections_opened", "connections_closed", "connections_idle_closed",
    "connections_refused", "idle_ns",
)


cdef class SocketServer(ResponseSink):
    """`listeners` is a list of (name, host, port). An empty host means every interface, port 0 any free port."""

    def __init__(
        self,
        list listeners,
        Disk disk,
        RequestChannel channel,
        DispatchTable dispatch,
        *,
        int num_network_threads=3,
        int64_t max_request_bytes=104857600,
        int64_t max_idle_ms=600000,
        int32_t send_buffer_bytes=-1,
        int32_t receive_buffer_bytes=-1,
        int32_t backlog=50,
        int64_t spin_us=0,
        int64_t free_buffer_bytes=16 * 1024 * 1024,
        int64_t buffer_idle_ms=10000,
        list factories=None,
        ClientQuotaManager quotas=None,
        ConnectionQuotas connection_quotas=None,
    ):
        if not 0 < num_network_threads <= MAX_PROCESSORS:
            raise ValueError(f"num.network.threads must be between 1 and {MAX_PROCESSORS}, not {num_network_threads}")
        self.listeners = listeners
        self.dispatch = dispatch
        self.disk = disk
        self.quotas = ClientQuotaManager(disk) if quotas is None else quotas
        self.connection_quotas = ConnectionQuotas(disk) if connection_quotas is None else connection_quotas
        self.channel = channel
        self.bound = []
        self.errors = RequestErrors()
        self.threads = []
        self.processors = []
        self.resizing = threading.Lock()
        self.max_request_bytes = max_request_bytes
        self.max_idle_ns = max_idle_ms * 1000000
        self.spin_ns = spin_us * 1000
        self.free_buffer_limit = free_buffer_bytes
        self.buffer_idle_ns = buffer_idle_ms * 1000000
        channel.attach(self)
        self.factories = [PlaintextFactory() for _ in listeners] if factories is None else factories
        for _ in range(num_network_threads):
            self.add_processor()
        self.acceptor = Acceptor(self.processors, channel, self.connection_quotas)
        self.acceptor.options.send_buffer_bytes = send_buffer_bytes
        self.acceptor.options.receive_buffer_bytes = receive_buffer_bytes
        self.acceptor.options.backlog = backlog

    cdef Processor add_processor(self):
        """Creates one more processor. `respond` works for it from here on."""
        cdef int32_t index = self.processor_count
        cdef Processor processor = Processor(
            index, self.channel, self.dispatch, self.disk, self.quotas, self.connection_quotas, self.factories)
        processor.connection_count = &self.open_connections
        processor.limits.max_request_bytes = self.max_request_bytes
        processor.limits.max_idle_ns = self.max_idle_ns
        processor.selector.max_spin_ns = self.spin_ns
        processor.limits.buffer_idle_ns = self.buffer_idle_ns
        processor.pool.max_free_bytes = <size_t>self.free_buffer_limit
        self.processors.append(processor)
        self.reactor[index] = <void*>processor
        atomic_store_32(&self.processor_count, index + 1)
        return processor

    def resize(self, int count) -> None:
        """Sets the number of processors that get new connections, and creates missing ones. ValueError beyond 256.

        It does nothing while the server is shutting down.
        """
        cdef Processor processor
        if not 0 < count <= MAX_PROCESSORS:
            raise ValueError(f"num.network.threads must be between 1 and {MAX_PROCESSORS}, not {count}")
        with self.resizing:
            if self.acceptor_thread is None:
                return
            # Count threads, not processors: a processor whose thread could not be started gets one in the next call.
            while len(self.threads) < count:
                index = len(self.threads)
                processor = self.processors[index] if index < self.processor_count else self.add_processor()
                self.threads.append(start_thread(f"kafka-network-thread-{index}", processor.run))
                self.acceptor.add_processor(processor)
            self.acceptor.take_turns_among(count)

    cdef void respond(self, uint64_t connection, Response* response) noexcept nogil:
        cdef int processor = processor_of(connection)
        if processor < atomic_load_32(&self.processor_count):
            response.completed_ns = self.now_ns()
            (<Processor>self.reactor[processor]).post_response(connection, response)
        else:
            response_free(response)

    cdef int64_t now_ns(self) noexcept nogil:
        return self.disk.operations.monotonic_ns(self.disk.operations.context)

    def bind(self) -> None:
        """Opens the listening sockets. Clients can connect from now on, and are served after `start`."""
        try:
            for name, host, port in self.listeners:
                self.bound.append((name, host, self.acceptor.open(name, host, port)))
        except OSError:
            self.acceptor.close_sockets()
            raise

    def start(self) -> None:
        """Binds, if `bind` was not called, and serves. OSError names the listener that could not be opened."""
        if not self.bound:
            self.bind()
        for index, processor in enumerate(self.processors):
            self.threads.append(start_thread(f"kafka-network-thread-{index}", processor.run))
        self.acceptor_thread = start_thread("kafka-socket-acceptor", self.acceptor.run)

    def bound_addresses(self) -> list[tuple[str, str, int]]:
        """(name, host as configured, port as bound) of every listener."""
        return list(self.bound)

    def stop_accepting(self) -> None:
        """Closes the listening sockets. Open connections continue."""
        with self.resizing:
            thread, self.acceptor_thread = self.acceptor_thread, None
        if thread is not None:
            self.acceptor.stop()
            thread.join()
        self.acceptor.close_sockets()

    def shutdown(self, timeout_ms: int = 5000) -> None:
        """Finishes requests in flight within `timeout_ms`, then closes every connection and ends the threads."""
        cdef Processor processor
        cdef int64_t deadline_ns
        self.stop_accepting()
        deadline_ns = self.disk.operations.monotonic_ns(self.disk.operations.context) + <int64_t>timeout_ms * 1000000
        for processor in self.processors:
            processor.drain(deadline_ns)
        for thread in self.threads:
            thread.join()
        self.threads = []
        # Requests in a garbage cycle with this server may respond after the processors were deallocated.
        atomic_store_32(&self.processor_count, 0)

    def connection_count(self) -> int:
        return atomic_load_64(&self.open_connections)

    def close_connection(self, uint64_t connection) -> None:
        """Closes one connection, if it is open. Requests in flight get no response."""
        cdef int processor = processor_of(connection)
        if processor < atomic_load_32(&self.processor_count):
            with nogil:
                (<Processor>self.reactor[processor]).post_close(connection)

    def counters(self) -> dict[str, int]:
        """The totals of all processors since the start, by the names in COUNTERS."""
        cdef Processor processor
        totals = dict.fromkeys(COUNTERS, 0)
        for processor in self.processors:
            for name, value in processor_counters(processor).items():
                totals[name] += value
        return totals

    def request_totals(self) -> dict[int, ApiTotals]:
        """The request metrics by API key."""
        cdef Processor processor
        return totals([processor.metrics for processor in self.processors], self.errors)

    def request_rings(self) -> list[RequestRing]:
        """The rings of finished requests for the request log, one per processor."""
        cdef Processor processor
        return [processor.log for processor in self.processors]

    def listener_connections(self) -> list[tuple[int, int, int, int]]:
        """(listener index, processor index, connections opened, connections closed) for each pair."""
        cdef Processor processor
        cdef int listener
        return [
            (listener, index, atomic_load_64(&processor.listener_counters[listener].opened),
             atomic_load_64(&processor.listener_counters[listener].closed))
            for index, processor in enumerate(self.processors)
            for listener in range(len(self.listeners))
        ]

    def free_buffer_bytes(self) -> int:
        """The bytes of unused receive buffers in all processors."""
        cdef Processor processor
        cdef int64_t total = 0
        for processor in self.processors:
            total += atomic_load_64(&processor.free_buffer_bytes)
        return total

    def processor_idle_ns(self) -> list[int]:
        """Nanoseconds that each processor has waited for work, including the wait in progress."""
        cdef int64_t now_ns = self.now_ns()
        return [idle_ns(processor, now_ns) for processor in self.processors]


cdef int64_t idle_ns(Processor processor, int64_t now_ns):
    cdef int64_t since_ns = atomic_load_64(&processor.waiting_since_ns)
    cdef int64_t waited_ns = max(<int64_t>0, now_ns - since_ns) if since_ns else 0
    return atomic_load_64(&processor.counters.idle_ns) + waited_ns


cdef dict processor_counters(Processor processor):
    cdef const int64_t* values = <const int64_t*>&processor.counters
    cdef int i
    return {COUNTERS[i]: atomic_load_64(&values[i]) for i in range(len(COUNTERS))}


cdef object start_thread(str name, object run):
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
