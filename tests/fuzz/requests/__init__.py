"""A structure-aware fuzzer of the running broker: valid requests with real names and ids, then one to three mutations.

Decoder fuzzers (`tests/fuzz/targets`) judge bytes. Faults that need a request which decodes, names an existing topic
and is wrong in one field are found here: the request travels through a socket to a broker process, and the whole broker
is judged.

    world.py         names and ids that exist on the broker: topics, groups, members, producer ids, sessions
    vocabulary.py    the valid value of a field, chosen from the world
    batches.py       record batches, valid and with one field changed under a correct checksum
    template.py      one valid request as a list of tokens, with the position of every field, length and count
    mutation.py      the changes of a template's tokens
    source.py        (seed, index) -> one mutated request
    restricted.py    the requests that are not sent, each with its reason
    judgement.py     which outcomes of a request are correct
    lane.py          a pipelined connection
    broker.py        the broker under test: its build, log, memory and descriptors
    bystander.py     a well-behaved client beside the fuzzer
    fuzzing.py       one seed against one broker
    both_paths.py    one seed against the native path and the Python path, compared
    findings.py      what is wrong with the broker, and after which requests
    arena.py         starts the brokers of a seed
    session.py       brokers that live through several seeds of a campaign
    shrinking.py     the shortest list of requests that still shows a finding

A request depends on its seed and index only, apart from ids that the broker gives out. So a finding is played again on
a new broker: `python -m tests.fuzz.requests --seed N --only INDEX`.
"""
