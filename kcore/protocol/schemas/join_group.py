"""JoinGroup, key 11: a member joins a group or its next generation.

Version  1  a rebalance timeout, separate from the session timeout
         4  a new member gets its id and joins again with it (KIP-394)
         5  static members (KIP-345)
         6  flexible
         7  the response has the protocol type (KIP-559)
         8  a reason (KIP-800)
         9  the response may tell the leader to skip the assignment (KIP-814)
"""

REQUEST = """
group_id              string  0+
session_timeout_ms    int32   0+
rebalance_timeout_ms  int32   1+  default=-1 ignorable
member_id             string  0+
group_instance_id     string  5+  nullable default=null
protocol_type         string  0+
protocols             []      0+
    name              string  0+
    metadata          bytes   0+
reason                string  8+  nullable default=null ignorable
"""

RESPONSE = """
throttle_time_ms       int32   2+  ignorable
error_code             int16   0+
generation_id          int32   0+  default=-1
protocol_type          string  7+  nullable default=null ignorable
protocol_name          string  0+  nullable=7+
leader                 string  0+
skip_assignment        bool    9+
member_id              string  0+
members                []      0+
    member_id          string  0+
    group_instance_id  string  5+  nullable default=null ignorable
    metadata           bytes   0+
"""
