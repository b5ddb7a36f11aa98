"""DescribeUserScramCredentials, key 50: the users' SCRAM credentials, without the secrets (KIP-554)."""

REQUEST = """
users     []      0+  nullable
    name  string  0+
"""

RESPONSE = """
throttle_time_ms      int32   0+
error_code            int16   0+
error_message         string  0+  nullable
results               []      0+
    user              string  0+
    error_code        int16   0+
    error_message     string  0+  nullable
    credential_infos  []      0+
        mechanism     int8    0+
        iterations    int32   0+
"""
