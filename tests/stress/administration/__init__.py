"""Races of administration: every pair of APIs that change something, on the same few names, with extreme arguments.

A seed goes through all pairs. A third of the connections sends requests of one API of the pair, a third those of the
other, and the rest creates, extends and deletes the topics meanwhile, so that what a request was decided on may change
before it is done. The names are few, and arguments are often at the ends of their ranges, of wrong kinds, or absent.

Beside them a well-behaved client has a topic and a group of its own. What must hold:

- every request is answered on its connection, within a time, and not with UNKNOWN_SERVER_ERROR;
- the well-behaved client is answered within a time, and gets what it was promised;
- memory, descriptors and the log of the broker stay bounded;
- at the end the directories are those of the metadata's topics, and a restart finds the same metadata.

    python -m tests.stress.administration [--seconds N] [--seed N] [--checkout DIRECTORY]
    bin/stress-sanitized administration                 # the broker with ThreadSanitizer
    bin/campaign admin_races                            # other seeds, kept in the ledger
"""
