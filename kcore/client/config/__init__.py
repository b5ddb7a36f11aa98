"""The configurations of the clients, by Kafka's names.

`client_config.py` has the classes to use (`ProducerConfig`, `ConsumerConfig`, `AdminConfig`). The tables are in
`*_keys.py`, rules over several values in `*_rules.py`, and descriptions in `documentation/`.
docs/client-configuration.md is generated from them.
"""
