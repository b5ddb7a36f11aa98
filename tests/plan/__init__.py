"""What a run of the tests plays, in which order and on which worker, and what it records. The parts are pytest plugins.

durations.py    how long every test file takes, in the committed tests/durations.json
order.py        longest files first under pytest-xdist; files in random order
closure.py      the files that a file of ours is made of, transitively
suites.py       the suites that run in full only after a change of what they are made of
sanitized.py    the packages whose tests run on the sanitizer build, likewise
suite_size.py   leaves out what a suite of small size does not play, and says so
processes.py    ends the processes that a test leaves behind
unsteady.py     the committed list of tests that failed once and passed when replayed
"""
