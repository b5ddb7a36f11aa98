"""NetworkThread: runs a NetworkClient and its driver until it is closed. It does not hold the GIL while it runs.

It is a Python thread, so that debuggers and `py-spy` can name it. It blocks all signals, which the main thread handles.
When the interpreter exits, the process ends this thread, which never takes the GIL again.
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
        # Released by the thread when it needs the GIL no more; only its start does.
        running = allocate_lock()
        running.acquire()
        start_new_thread(self.run, (running,))
        with running:
            pass

    def run(self, running) -> None:
        """Internal. The thread's function."""
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
        """End the thread, then close the client. Unanswered requests finish as closed, on the calling thread."""
        atomic_store_32(&self.is_closing, 1)
        if self.is_started:
            with nogil:
                self.client.wake()
            with self.ended:
                pass
        self.client.close()
