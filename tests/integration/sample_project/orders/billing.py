"""Reads orders, writes a bill for each; knows of Kafka only through confluent-kafka and its bootstrap servers."""

from __future__ import annotations

import json

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer


class Billing:
    def __init__(self, bootstrap_servers: str, orders: str, bills: str) -> None:
        self._bills = bills
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True})
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "billing",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._consumer.subscribe([orders])
        self._failed: list[KafkaError] = []

    def run(self, count: int, timeout_s: float = 30.0) -> None:
        """Bills so many orders, then commits."""
        for _ in range(count):
            message = self._consumer.poll(timeout_s)
            if message is None:
                raise TimeoutError("no order came")
            if message.error():
                raise KafkaException(message.error())
            order = json.loads(message.value() or b"{}")
            bill = {"order": order["id"], "total": order["price"] * order["count"]}
            self._producer.produce(self._bills, json.dumps(bill), key=message.key(), on_delivery=self._note)
        if self._producer.flush(timeout_s) or self._failed:
            raise RuntimeError(f"bills were not delivered: {self._failed}")
        self._consumer.commit(asynchronous=False)

    def _note(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append(error)

    def close(self) -> None:
        self._consumer.close()
