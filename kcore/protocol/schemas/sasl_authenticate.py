"""SaslAuthenticate, key 36: one message of a SASL authentication.

Version  1  the response has the session lifetime (KIP-368)
         2  flexible
"""

REQUEST = """
auth_bytes  bytes  0+
"""

RESPONSE = """
error_code           int16   0+
error_message        string  0+  nullable
auth_bytes           bytes   0+
session_lifetime_ms  int64   1+  ignorable
"""
