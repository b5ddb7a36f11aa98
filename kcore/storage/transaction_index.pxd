"""The aborted transactions of a segment (Kafka's `TransactionIndex`): `<base offset>.txnindex`."""

from libc.stdint cimport int32_t, int64_t
from kcore.storage.segment cimport LogSegment

cdef struct AbortedTransaction:
    int64_t producer_id
    int64_t first_offset
    int64_t last_offset          # the marker's
    int64_t last_stable_offset   # after the marker was written

cdef struct AbortedTransactions: # empty when zeroed; release it with aborted_transactions_free
    AbortedTransaction* entries
    int32_t count
    int32_t capacity

cdef void aborted_transactions_free(AbortedTransactions* list) noexcept nogil
# Checks the file and counts its entries; 0 without a file. -EBADMSG if it is damaged.
cdef int transaction_index_load(LogSegment* segment) noexcept nogil
# Adds an entry; the first one creates the file. The caller holds the append lock or is the only user of the log.
cdef int transaction_index_append(LogSegment* segment, const AbortedTransaction* aborted) noexcept nogil
# Adds to `list` the transactions with records from `offset` to below `upper_bound`. Sets `complete` if later segments
# cannot have more of them.
cdef int transaction_index_collect(LogSegment* segment, int64_t offset, int64_t upper_bound,
                                   AbortedTransactions* list, bint* complete) noexcept nogil
# Removes the entries of transactions that ended at or above `offset`.
cdef int transaction_index_truncate(LogSegment* segment, int64_t offset) noexcept nogil
