"""AlterUserScramCredentials, key 51: creates, changes and deletes SCRAM credentials (KIP-554)."""

REQUEST = """
deletions            []      0+
    name             string  0+
    mechanism        int8    0+
upsertions           []      0+
    name             string  0+
    mechanism        int8    0+
    iterations       int32   0+
    salt             bytes   0+
    salted_password  bytes   0+
"""

RESPONSE = """
throttle_time_ms   int32   0+
results            []      0+
    user           string  0+
    error_code     int16   0+
    error_message  string  0+  nullable
"""
