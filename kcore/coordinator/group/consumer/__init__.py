"""Groups of the consumer protocol (KIP-848, Kafka's `ConsumerGroup`): the coordinator assigns, members follow."""
