"""`commitGroup`: commits a query's progress for a consumer group, so that other tools can show its lag.

The query itself resumes from its checkpoint only. A failed commit is logged; the next commit replaces it.
"""

from __future__ import annotations

import logging

from kcore.client.admin.admin import Admin
from kcore.client.admin.results import failures
from kcore.client.errors import ClientError
from kcore.errors import KafkaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kspark.source_options import SourceOptions
    from kspark.stream_offset import StreamOffset

LOG = logging.getLogger("kspark")


class CommittedOffsets:
    def __init__(self, options: SourceOptions) -> None:
        self._group = options.commit_group or ""
        self._admin = Admin(options.client)
        self._last: StreamOffset | None = None

    def close(self) -> None:
        self._admin.close()

    def commit(self, done: StreamOffset) -> None:
        if self._last is not None and self._last.offsets == done.offsets:
            return
        try:
            for failure in failures(self._admin.alter_offsets(self._group, done.offsets)).values():
                raise failure
        except (ClientError, KafkaError) as error:
            LOG.warning("Offsets are not committed for group %s: %s", self._group, error)
            return
        self._last = done
