"""ListGroups, key 16: the groups that a broker coordinates.

Version  3  flexible
         4  states, as a filter and in the response (KIP-518)
         5  types, in the same way (KIP-848)
"""

REQUEST = """
states_filter  []string  4+
types_filter   []string  5+
"""

RESPONSE = """
throttle_time_ms   int32   1+  ignorable
error_code         int16   0+
groups             []      0+
    group_id       string  0+
    protocol_type  string  0+
    group_state    string  4+  ignorable
    group_type     string  5+  ignorable
"""
