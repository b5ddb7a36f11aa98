"""Kafka's protocol: the schemas of all messages, the codec and the headers. No I/O.

`apis` lists the APIs. `schemas/` has one file per API, in the notation of `notation`. `records/` has the records of
Kafka's internal topics and the messages between group members. `plan` compiles a schema for one version, `decoder` and
`encoder` execute the plan, and `codec` is their Python interface. `message` creates the message classes; `headers` adds
headers. To add a version, extend the API's schema and its row in `apis`; the tests then require an oracle that has it.
"""
