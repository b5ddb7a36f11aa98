"""The group coordinator in seeded lives of virtual time: clients as little state machines, a network that loses,
repeats and delays, a log in memory that may refuse, a coordinator that dies at any step and reads its log back.

What is real: GroupCoordinator, its shards, the classic state machine, the records and their replay. What must hold is
in `witness.py`: invariants 8, 9 and 12, one leader a generation, and no request without an answer.
"""
