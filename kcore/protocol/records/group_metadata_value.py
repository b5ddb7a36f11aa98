"""The value of a group's state in `__consumer_offsets`: the last stable generation and its members.

Versions: 1 rebalance timeout; 2 time of the last state change; 3 static members (KIP-345); 4 flexible (KIP-915).
"""

SCHEMA = """
define MemberMetadata
    member_id            string            0+
    group_instance_id    string            3+  nullable default=null ignorable
    client_id            string            0+
    client_host          string            0+
    rebalance_timeout    int32             1+  default=-1 ignorable
    session_timeout      int32             0+
    subscription         bytes             0+
    assignment           bytes             0+

protocol_type            string            0+
generation               int32             0+
protocol                 string            0+  nullable
leader                   string            0+  nullable
current_state_timestamp  int64             2+  default=-1 ignorable
members                  []MemberMetadata  0+
"""
