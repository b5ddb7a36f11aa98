"""What a loss of power leaves of one file of a MemoryDisk: the bytes of its last fdatasync, and some later ones.

Only fdatasync gives a guarantee. A page cache writes the rest whenever it likes. So with `chance` one of these survives
of the changes after the last sync: nothing; everything; the first few writes; any of the writes; any of the pages; any
of the sectors, which tears pages. The length of a file is separate metadata and may survive without the bytes, which
are zeros then, as after a crash of ext4 or XFS.

A write that was overwritten before the loss survives with the newer bytes, because the page cache keeps only those.
Concurrency: the caller holds the disk's lock.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy
from libcpp.string cimport string
from libcpp.vector cimport vector
from kcore.platform.chance cimport chance_below
from kcore.platform.memory_content cimport MemoryContent, content_resize

cdef enum:
    CUT = -1
    PAGE_BYTES = 4096
    SECTOR_BYTES = 512

cdef enum Survivors:
    NOTHING
    EVERYTHING
    FIRST_WRITES
    ANY_WRITES
    ANY_PAGES
    ANY_SECTORS
    SURVIVORS_COUNT


cdef void note(DurableContent* durable, int64_t position, int64_t size) noexcept nogil:
    cdef ContentChange change
    if durable.changes == NULL:
        durable.changes = new vector[ContentChange]()
    change.position = position
    change.size = size
    durable.changes.push_back(change)


cdef void durable_note_write(DurableContent* durable, int64_t position, int64_t size) noexcept nogil:
    note(durable, position, size)


cdef void durable_note_resize(DurableContent* durable, int64_t size) noexcept nogil:
    note(durable, size, CUT)


cdef void durable_sync(DurableContent* durable, const MemoryContent* content) noexcept nogil:
    if durable.synced == NULL:
        durable.synced = new string()
    durable.synced.clear()
    if content.size > 0:
        durable.synced.append(<const char*>content.data, <size_t>content.size)
    if durable.changes != NULL:
        durable.changes.clear()


cdef void apply(string* left, const ContentChange* change, const MemoryContent* content) noexcept nogil:
    """Applies one surviving change, with the current bytes."""
    cdef size_t end
    if change.size == CUT:
        left.resize(<size_t>change.position)
        return
    end = <size_t>min(change.position + change.size, content.size)
    if end > <size_t>change.position:
        if left.size() < end:
            left.resize(end)
        memcpy(&left[0][0] + change.position, content.data + change.position, end - <size_t>change.position)


cdef void apply_writes(string* left, const DurableContent* durable, const MemoryContent* content, uint64_t* chance,
                       bint only_first) noexcept nogil:
    cdef size_t count = durable.changes.size()
    cdef size_t first = <size_t>chance_below(chance, count + 1)
    cdef size_t i
    for i in range(count):
        if (i < first) if only_first else (chance_below(chance, 2) == 0):
            apply(left, &durable.changes[0][i], content)


cdef void apply_blocks(string* left, const MemoryContent* content, uint64_t* chance, size_t block) noexcept nogil:
    """Takes each page or sector from the old or the new content, with the old or new length or one in between."""
    cdef size_t old = left.size(), new = <size_t>content.size
    cdef size_t shorter = min(old, new), longer = max(old, new)
    cdef size_t length, at = 0, end
    cdef uint64_t choice = chance_below(chance, 4)
    if choice == 0:
        length = old
    elif choice == 1:
        length = min(longer, shorter + <size_t>chance_below(chance, longer - shorter + 1) // block * block)
    else:
        length = new
    left.resize(length)
    while at < min(length, new):
        end = min(at + block, length, new)
        if chance_below(chance, 2):
            memcpy(&left[0][0] + at, content.data + at, end - at)
        at += block


cdef void add_survivors(string* left, const DurableContent* durable, const MemoryContent* content,
                        uint64_t* chance) noexcept nogil:
    cdef uint64_t kind = chance_below(chance, SURVIVORS_COUNT)
    if kind == EVERYTHING:
        left.assign(<const char*>content.data, <size_t>content.size)
    elif kind == FIRST_WRITES or kind == ANY_WRITES:
        apply_writes(left, durable, content, chance, kind == FIRST_WRITES)
    elif kind == ANY_PAGES or kind == ANY_SECTORS:
        apply_blocks(left, content, chance, PAGE_BYTES if kind == ANY_PAGES else SECTOR_BYTES)


cdef int durable_restore(DurableContent* durable, MemoryContent* content, size_t limit,
                         uint64_t* chance) noexcept nogil:
    cdef string left
    cdef int outcome
    if durable.synced != NULL:
        left = durable.synced[0]
    if chance != NULL and durable.changes != NULL and durable.changes.size():
        add_survivors(&left, durable, content, chance)
    outcome = content_resize(content, 0, limit)
    if outcome >= 0:
        outcome = content_resize(content, <int64_t>left.size(), limit)
    if outcome < 0:
        return outcome
    if left.size():
        memcpy(content.data, left.data(), left.size())
    durable_sync(durable, content)
    return 0


cdef void durable_free(DurableContent* durable) noexcept nogil:
    cdef string* synced = durable.synced
    cdef vector[ContentChange]* changes = durable.changes
    del synced
    del changes
    durable.synced = NULL
    durable.changes = NULL
