"""What must hold whatever happens to a broker: the design's invariants, as one checker that every fault suite uses.

    1  acknowledged records survive                     8  (groups: with the group workload)
    2  an offset has one value for ever                 9  committed offsets never go back except by reset
    3  a torn tail loses only the tail                 10  recovery is idempotent
    4  indexes are derivable from the log              11  (the failing disk: an error, never an ack)
    5  idempotent producers: none twice, in order      12  when faults stop, everyone makes progress
    6  log start <= LSO <= HW <= LEO                   13  (decoders: any bytes, or a clean error)
    7  retention removes only what is eligible         14  the dump tool agrees with what consumers saw

`history.py` is what clients did and were told, `log_files.py` reads partition directories by its own means, and
`checker.py` holds them against the invariants. Those in brackets are checked by the suites that they belong to.
"""
