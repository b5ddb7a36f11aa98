"""Heartbeat, key 12: keeps a member in its group.

Version  3  static members (KIP-345)
         4  flexible
"""

REQUEST = """
group_id           string  0+
generation_id      int32   0+
member_id          string  0+
group_instance_id  string  3+  nullable default=null
"""

RESPONSE = """
throttle_time_ms  int32  1+  ignorable
error_code        int16  0+
"""
