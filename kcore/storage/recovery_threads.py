"""Work on many logs at start and shutdown, with `num.recovery.threads.per.data.dir` threads for each log directory.

Directories are usually separate disks, so each has its own threads, which take jobs from one queue. If one thread is
enough for everything, the caller does the work.
"""

from __future__ import annotations

from collections import deque
from threading import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Job = Callable[[], None]


def run_jobs(jobs_by_directory: Iterable[Iterable[Job]], threads_per_directory: int) -> None:
    """Runs every job. After all threads have ended, raises the exception of the first job that failed."""
    queues = [queue for queue in (deque(jobs) for jobs in jobs_by_directory) if queue]
    failures: list[BaseException] = []
    if len(queues) == 1 and (threads_per_directory == 1 or len(queues[0]) == 1):
        _work_off(queues[0], failures)
    else:
        threads = [
            Thread(target=_work_off, args=(queue, failures), name=f"log-recovery-{number}")
            for queue in queues
            for number in range(min(threads_per_directory, len(queue)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]


def _work_off(queue: deque[Job], failures: list[BaseException]) -> None:
    while not failures:
        try:
            job = queue.popleft()
        except IndexError:
            return
        try:
            job()
        except BaseException as error:
            failures.append(error)
