"""LeaveGroup, key 13: members leave a group.

Version  3  several members, also static ones (KIP-345)
         4  flexible
         5  a reason (KIP-800)
"""

REQUEST = """
group_id               string  0+
member_id              string  0-2
members                []      3+
    member_id          string  3+
    group_instance_id  string  3+   nullable default=null
    reason             string  5+   nullable default=null ignorable
"""

RESPONSE = """
throttle_time_ms       int32   1+  ignorable
error_code             int16   0+
members                []      3+
    member_id          string  3+
    group_instance_id  string  3+  nullable
    error_code         int16   3+
"""
