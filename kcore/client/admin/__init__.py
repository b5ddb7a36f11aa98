"""What administrators ask of a cluster: one file a subject, and `admin.py` for all of them together.

A method answers for each thing that it was asked about: with the result, or with the exception that says why there is
none (`Failure`), so that what failed stands beside what did not. What concerns the request as a whole is raised.
"""
