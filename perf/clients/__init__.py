"""Clients side by side in one run: ours, confluent-kafka, kafka-python, aiokafka, Java's tools, and a peer in C."""
