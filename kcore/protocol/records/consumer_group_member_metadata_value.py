"""The value of a member of a consumer group: who it is and what it subscribes to.

One that speaks the classic protocol in a group that was upgraded has its protocols and session timeout here too; of the
others the tag says null, which is not the default.
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
