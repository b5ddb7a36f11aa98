"""Groups of the consumer protocol alone, in virtual time."""
