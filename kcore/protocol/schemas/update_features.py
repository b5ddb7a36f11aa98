"""UpdateFeatures, key 57: changes the finalized levels of features (KIP-584).

Version  1  validation only; the upgrade type replaces the permission to downgrade (KIP-778)
         2  no results per feature: all updates succeed or none does (KIP-1022)
"""

REQUEST = """
timeout_ms             int32   0+  default=60000
feature_updates        []      0+
    feature            string  0+
    max_version_level  int16   0+
    allow_downgrade    bool    0
    upgrade_type       int8    1+  default=1
validate_only          bool    1+  default=false
"""

RESPONSE = """
throttle_time_ms   int32   0+
error_code         int16   0+
error_message      string  0+   nullable
results            []      0-1  ignorable
    feature        string  0+
    error_code     int16   0+
    error_message  string  0+   nullable
"""
