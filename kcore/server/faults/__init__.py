"""Faults that tests inject into a broker: late, missing, wrong or broken responses, selected by API.

Faults are off by default and then cost nothing: the table is created, and this package imported, for the first fault.
No configuration and no request can add a fault. Only code in the broker's process can: `kcore.testing` does so over its
own channel.
"""
