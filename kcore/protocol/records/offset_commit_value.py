"""The value of a committed offset in `__consumer_offsets`.

Versions: 1 has an expiry time, later ones use offsets.retention.minutes; 3 leader epoch; 4 flexible (KIP-915).
"""

SCHEMA = """
offset            int64   0+
leader_epoch      int32   3+  default=-1 ignorable
metadata          string  0+
commit_timestamp  int64   0+
expire_timestamp  int64   1   default=-1 ignorable
"""
