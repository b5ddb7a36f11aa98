"""Kafka's protocol: the schema of every message, the codec that runs them, and headers. No I/O.

`apis` lists the APIs, `schemas/` holds one file per API in the notation of `notation`, `records/` the schemas of what
Kafka keeps in its internal topics and in group protocols; `plan` compiles a schema for one version, `codec` runs it.
"""
