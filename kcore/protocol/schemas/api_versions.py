"""ApiVersions, key 18: the APIs and versions that a broker supports.

Version  3  flexible, except the response header; name and version of the client (KIP-511), features (KIP-584)
         4  the minimum version of a feature may be 0 (KAFKA-17011)
"""

REQUEST = """
client_software_name     string  3+  ignorable
client_software_version  string  3+  ignorable
"""

RESPONSE = """
error_code                int16   0+
api_keys                  []      0+
    api_key               int16   0+
    min_version           int16   0+
    max_version           int16   0+
throttle_time_ms          int32   1+  ignorable
supported_features        []      3+  tag=0 ignorable
    name                  string  3+
    min_version           int16   3+
    max_version           int16   3+
finalized_features_epoch  int64   3+  tag=1 default=-1 ignorable
finalized_features        []      3+  tag=2 ignorable
    name                  string  3+
    max_version_level     int16   3+
    min_version_level     int16   3+
zk_migration_ready        bool    3+  tag=3 ignorable
"""
