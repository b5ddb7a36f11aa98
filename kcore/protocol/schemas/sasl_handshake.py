"""SaslHandshake, key 17: chooses a SASL mechanism.

Version  1  followed by SaslAuthenticate requests instead of raw tokens (KIP-152). Never flexible.
"""

REQUEST = """
mechanism  string  0+
"""

RESPONSE = """
error_code  int16     0+
mechanisms  []string  0+
"""
