"""SyncGroup, key 14: the leader sends the assignments, and every member gets its own.

Version  3  static members (KIP-345)
         4  flexible
         5  protocol type and name, which both sides check (KIP-559)
"""

REQUEST = """
group_id           string  0+
generation_id      int32   0+
member_id          string  0+
group_instance_id  string  3+  nullable default=null
protocol_type      string  5+  nullable default=null ignorable
protocol_name      string  5+  nullable default=null ignorable
assignments        []      0+
    member_id      string  0+
    assignment     bytes   0+
"""

RESPONSE = """
throttle_time_ms  int32   1+  ignorable
error_code        int16   0+
protocol_type     string  5+  nullable default=null ignorable
protocol_name     string  5+  nullable default=null ignorable
assignment        bytes   0+
"""
