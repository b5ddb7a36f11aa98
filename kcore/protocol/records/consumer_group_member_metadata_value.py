"""The value of a member of a consumer group: who it is and what it subscribes to.

A member with the classic protocol in an upgraded group also has its protocols and session timeout here. For other
members the tagged field is null, which is not its default.
"""

SCHEMA = """
instance_id                 string    0+  nullable
rack_id                     string    0+  nullable
client_id                   string    0+
client_host                 string    0+
subscribed_topic_names      []string  0+
subscribed_topic_regex      string    0+  nullable
rebalance_timeout_ms        int32     0+  default=-1
server_assignor             string    0+  nullable
classic_member_metadata     struct    0+  nullable tag=0
    session_timeout_ms      int32     0+
    supported_protocols     []        0+
        name                string    0+
        metadata            bytes     0+
"""
