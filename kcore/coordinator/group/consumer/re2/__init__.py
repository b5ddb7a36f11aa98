"""Patterns of RE2 over names of topics, matched in linear time.

Why not `re`: it backtracks, so that a member could hold a broker up with a few bytes, and it takes and refuses other
patterns than the RE2 that clients and Kafka have (backreferences, lookaround). Why not a library: the one there is
brings a binary for some machines only. Names of topics have 65 different characters, so that a class is a small set and
an automaton stays small.
"""
