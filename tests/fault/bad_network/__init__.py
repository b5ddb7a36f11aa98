"""Our clients behind a network that drops, delays and cuts frames (FaultProxy), before a real broker.

`site.py` broker and proxy; `weather.py` what the network does, by a seed; `log_records.py` what the broker has, read by
others' code; `client_round.py` a producer (`sending.py`) and a consumer (`reading.py`), and what must hold; `cuts.py` a
small exchange that is cut at every byte.
"""
