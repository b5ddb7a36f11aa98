"""Faults that a test can have a broker make: late, missing, wrong and broken answers, chosen by API.

Off by default and without cost then: a broker has no table of faults until the first one is added, and none of this is
imported. There is no configuration for it and no request of the protocol: only code in the broker's process can add
faults (`kcore.testing` does, over a channel of its own).
"""
