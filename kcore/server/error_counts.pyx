"""Counts the error codes of a response from a Python handler (Kafka's `AbstractResponse.errorCounts`).

The fields of a response are nested dictionaries and lists. Every `error_code` other than NONE is counted. A response
without errors counts once as NONE. Kafka counts NONE once for each partition instead.
"""

from libc.stdint cimport int16_t

from kcore.errors cimport NONE
from kcore.network.request_metrics cimport RequestErrors


def count_errors(RequestErrors errors not None, int16_t api_key, fields) -> None:
    """Counts the errors of one response."""
    if count_in(errors, api_key, fields) == 0:
        errors.add(api_key, NONE, 1)


cdef int count_in(RequestErrors errors, int16_t api_key, fields) except -1:
    """Counts errors recursively. Returns how many it found."""
    cdef int found = 0
    if not isinstance(fields, dict):
        return 0
    for name, value in (<dict>fields).items():
        if isinstance(value, list):
            for entry in <list>value:
                if not isinstance(entry, dict):
                    break
                found += count_in(errors, api_key, entry)
        elif name == "error_code":
            if value != NONE:
                errors.add(api_key, value, 1)
                found += 1
        elif isinstance(value, dict):
            found += count_in(errors, api_key, value)
    return found
