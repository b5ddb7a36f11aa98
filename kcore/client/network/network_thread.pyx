"""NetworkThread: runs a NetworkClient, and its driver's turns, until it is closed. It holds no GIL while it runs.

It is one of Python's threads, so that debuggers and `py-spy` name it, and blocks all signals: they are the main thread's.
An interpreter that ends while it runs ends it: it never asks for the GIL again.
"""

from libc.stdint cimport INT64_MAX, int32_t
from kcore.client.network.network_client cimport NetworkClient
from kcore.platform.signals cimport block_signals
from kcore.platform.sync cimport atomic_load_32, atomic_store_32

from _thread import allocate_lock, start_new_thread


cdef class NetworkThread:
    """Polls `client` from `start` to `close`."""

    def __init__(self, NetworkClient client not None):
        self.client = client
        self.ended = allocate_lock()

    def start(self) -> None:
        if self.is_started:
            raise RuntimeError("the network thread of a client is started once")
        self.is_started = True
        self.ended.acquire()
        # Comes back once the thread needs the GIL no more: its beginning does.
        running = allocate_lock()
        running.acquire()
        start_new_thread(self.run, (running,))
        with running:
            pass

    def run(self, running) -> None:
        """The thread's own."""
        cdef NetworkClient client = self.client
        running.release()
        try:
            with nogil:
                block_signals()
                while not atomic_load_32(&self.is_closing):
                    client.poll(INT64_MAX)
        finally:
            self.ended.release()

    def close(self) -> None:
        """Ends the thread, then the client: what is not answered is finished as closed, on the calling thread."""
        atomic_store_32(&self.is_closing, 1)
        if self.is_started:
            with nogil:
                self.client.wake()
            with self.ended:
                pass
        self.client.close()
