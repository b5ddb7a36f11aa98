"""Records what real clients and a real broker say, by `python -m tests.vectors.protocol.record LISTEN BROKER`.

A proxy that passes frames on as they are. The broker has to be Apache Kafka, advertising the proxy's address; clients
are then run against the proxy. Of every API, version and client id the exchange that says most within KEPT_BYTES is
kept, and printed at the end (Ctrl-C) as JSON lines. kafka-3.9.jsonl was made so, with confluent-kafka 2.16,
kafka-python 3.0, aiokafka 0.14 and the broker's own clients against Apache Kafka 3.9.2; kafka-4.3.jsonl has what they
said differently to 4.3.1, as far as the codec knows it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading

KEPT_BYTES = 1024

Exchange = tuple[bytes, bytes]


def read_frame(stream: socket.socket) -> bytes | None:
    size = stream.recv(4, socket.MSG_WAITALL)
    if len(size) < 4:
        return None
    return stream.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)


def send_frame(stream: socket.socket, frame: bytes) -> None:
    stream.sendall(len(frame).to_bytes(4, "big") + frame)


class Recorder:
    """What was seen so far; the connections' threads share it."""

    def __init__(self, broker: tuple[str, int]) -> None:
        self.broker = broker
        self.lock = threading.Lock()
        self.kept: dict[tuple[int, int, str], Exchange] = {}

    def serve(self, client: socket.socket) -> None:
        """Until either side hangs up; one request at a time, which is all that a recording needs."""
        with contextlib.suppress(OSError), client, socket.create_connection(self.broker) as broker:
            while (request := read_frame(client)) is not None:
                send_frame(broker, request)
                if (response := read_frame(broker)) is None:
                    return
                self.keep(request, response)
                send_frame(client, response)

    def keep(self, request: bytes, response: bytes) -> None:
        client_id = request[10 : 10 + max(0, int.from_bytes(request[8:10], "big", signed=True))].decode()
        key = (int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big"), client_id)
        with self.lock:
            kept_bytes = sum(map(len, self.kept.get(key, ())))
            if kept_bytes < len(request) + len(response) <= KEPT_BYTES:
                self.kept[key] = (request, response)

    def dump(self) -> None:
        for (_, _, client_id), (request, response) in sorted(self.kept.items()):
            print(json.dumps({"client": client_id, "request": request.hex(), "response": response.hex()}))


def main() -> None:
    (listen_host, listen_port), (broker_host, broker_port) = (address.split(":") for address in sys.argv[1:3])
    recorder = Recorder((broker_host, int(broker_port)))
    with socket.create_server((listen_host, int(listen_port))) as server:
        try:
            while True:
                client, _ = server.accept()
                threading.Thread(target=recorder.serve, args=(client,), daemon=True).start()
        except KeyboardInterrupt:
            recorder.dump()


if __name__ == "__main__":
    main()
