"""The admin client: one file per subject, and `admin.py` with all of them.

A method returns one entry per resource: the result, or the exception that explains its failure (`Failure`). So one
failure does not hide the other results. Errors of the whole request are raised.
"""
