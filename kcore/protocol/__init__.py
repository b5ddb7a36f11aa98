"""Kafka's protocol: the schema of every message, the codec that runs them, and headers. No I/O.

`apis` lists the APIs, `schemas/` holds one file per API in the notation of `notation`, `records/` what Kafka keeps in
its internal topics and what group members exchange. `plan` compiles a schema for one version, `decoder` and `encoder`
run the plan, `codec` is their face to Python; `message` makes the classes of messages, `headers` puts headers before
them. To add a version, extend the API's schema and its row in `apis`; the tests then demand an oracle that has it.
"""
