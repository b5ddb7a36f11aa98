"""DeleteGroups, key 42: deletes groups.

Version  2  flexible
"""

REQUEST = """
groups_names  []string  0+
"""

RESPONSE = """
throttle_time_ms  int32   0+
results           []      0+
    group_id      string  0+
    error_code    int16   0+
"""
