"""DeleteTopics, key 20: deletes topics.

Version  3  may return TOPIC_DELETION_DISABLED
         4  flexible
         5  error messages (KIP-599)
         6  topics by name or id (KIP-516)
"""

REQUEST = """
topics        []        6+
    name      string    6+   nullable default=null
    topic_id  uuid      6+
topic_names   []string  0-5  ignorable
timeout_ms    int32     0+
"""

RESPONSE = """
throttle_time_ms   int32   1+  ignorable
responses          []      0+
    name           string  0+  nullable=6+
    topic_id       uuid    6+  ignorable
    error_code     int16   0+
    error_message  string  5+  nullable default=null ignorable
"""
