"""The configurations of the clients, by Kafka's names.

`client_config.py` is the way in (`ProducerConfig`, `ConsumerConfig`, `AdminConfig`); the tables are `*_keys.py`, what
several have to be together is in `*_rules.py`, and what each is for in `documentation/`. docs/client-configuration.md
is made from them.
"""
