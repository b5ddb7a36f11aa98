"""The data plane under stress: many connections at once against one broker in a process of its own, for a while.

    python -m tests.stress --seconds 60 --seed 7              this checkout's build
    bin/stress-sanitized --seconds 1200                       a build with ThreadSanitizer

Producers (every codec, idempotent or not), consumers (long polls, with and without fetch sessions), operators (topics,
configurations, quotas, DeleteRecords) and clients that misbehave work at the same time, and end their connections at
any moment. The clients are not instrumented, so that ThreadSanitizer watches the broker alone.

What comes back is judged by its content: `payload.py` makes records that say whose they are, `partition_history.py`
holds the rules.
"""
