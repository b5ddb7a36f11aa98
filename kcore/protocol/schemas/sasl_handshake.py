"""SaslHandshake, key 17: the choice of a SASL mechanism.

Version  1  what follows are SaslAuthenticate requests instead of bare tokens (KIP-152). Never flexible.
"""

REQUEST = """
mechanism  string  0+
"""

RESPONSE = """
error_code  int16     0+
mechanisms  []string  0+
"""
