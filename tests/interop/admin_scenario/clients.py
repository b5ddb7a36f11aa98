"""Who takes the steps: one object for each client, connected to one broker, with `run(call) -> plain value`."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka.admin import AdminClient
from kafka.admin import KafkaAdminClient

from kcore import uuid
from kcore.protocol import apis
from tests.interop.admin_scenario.plain import TIMEOUT_S, failure, plain
from tests.interop.admin_scenario.step import FILE, SERVER_FIRST, Action, Command, IdOf, Request
from tests.raw_client import RawClient

JAVA_SOURCES = Path(__file__).with_name("java")
TIMEOUT_MS = TIMEOUT_S * 1000
STACK_TRACE = re.compile(r"\s+at |\s+\.\.\. |Caused by: ")


class Client(Protocol):
    def run(self, call: Any) -> Any: ...

    def close(self) -> None: ...


class LibraryClient:
    """A client of Python's: its steps are functions of it."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def run(self, call: Callable[[Any], Any]) -> Any:
        try:
            return plain(call(self.library))
        except Exception as error:
            return failure(error)

    def close(self) -> None:
        close = getattr(self.library, "close", None)
        if close is not None:
            close()


class AiokafkaClient:
    """aiokafka's, in an event loop of its own."""

    def __init__(self, server: str) -> None:
        self.runner = asyncio.Runner()
        self.admin = self.runner.run(self._start(server))

    @staticmethod
    async def _start(server: str) -> AIOKafkaAdminClient:
        admin = AIOKafkaAdminClient(bootstrap_servers=server, request_timeout_ms=TIMEOUT_MS)
        await admin.start()
        return admin

    def run(self, call: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
        async def awaited() -> Any:
            return await call(self.admin)

        try:
            return plain(self.runner.run(awaited()))
        except Exception as error:
            return failure(error)

    def close(self) -> None:
        self.runner.run(self.admin.close())
        self.runner.close()


class TopicIds:
    """The ids that a broker gave its topics, kept after the topic is gone, and put where a step has an `IdOf`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.known: dict[str, bytes] = {}
        self.names: dict[str, str] = {}

    def look(self) -> None:
        with RawClient(self.port) as client:
            topics = client.request(apis.METADATA, 12, {"topics": None}).topics
        self.known.update({topic.name: bytes(topic.topic_id) for topic in topics})
        self.names.update({uuid.to_text(topic_id): name for name, topic_id in self.known.items()})

    def fill(self, value: Any, *, as_text: bool) -> Any:
        if isinstance(value, IdOf):
            topic_id = self.known[value.topic]
            return uuid.to_text(topic_id) if as_text else topic_id
        if isinstance(value, dict):
            return {key: self.fill(item, as_text=as_text) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.fill(item, as_text=as_text) for item in value]
        return value


class WireClient:
    """Requests as bytes, each on a connection of its own: the broker may close it."""

    def __init__(self, port: int, topic_ids: TopicIds) -> None:
        self.port = port
        self.topic_ids = topic_ids

    def run(self, call: Request) -> Any:
        with RawClient(self.port) as client:
            client.send(call.api, call.version, self.topic_ids.fill(dict(call.fields), as_text=False))
            try:
                return plain(client.receive(call.api, call.version))
            except (AssertionError, ConnectionResetError):
                return "the broker closed the connection"

    def close(self) -> None:
        """Nothing stays open."""


class JavaProgram:
    """One JVM for all Java steps and tools, against any broker; see ScenarioProgram.java.

    AdminSteps.java is written for Kafka 3.9; the tools of any version are run by `ToolProgram` alone.
    """

    def __init__(self, class_path: str, classes: Path, main: str = "ScenarioProgram") -> None:
        compiler = ["javac", "-nowarn", "-d", str(classes), "-cp", class_path, "-sourcepath", str(JAVA_SOURCES)]
        subprocess.run([*compiler, str(JAVA_SOURCES / f"{main}.java")], check=True, stderr=subprocess.PIPE)
        command = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
        self.process = subprocess.Popen(
            [*command, "-cp", f"{classes}:{class_path}", main],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, server: str, action: str, arguments: Mapping[str, Any]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"server": server, "action": action, "arguments": arguments}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"Java ended in {action} of {arguments}"
        return json.loads(answer)

    def tool(self, server: str, program: str, words: Sequence[str]) -> Any:
        """Runs a tool as from a command line: its exit code, and the lines that it wrote."""
        answer = self.ask(server, "tool", {"program": program, "words": list(words)})
        return {"code": answer["code"], "stdout": lines(answer["stdout"]), "stderr": lines(answer["stderr"])}

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class JavaClient:
    """Java's AdminClient, and the tools, against one broker."""

    def __init__(self, program: JavaProgram, server: str, topic_ids: TopicIds, file: Path) -> None:
        self.program = program
        self.server = server
        self.topic_ids = topic_ids
        self.file = file

    def run(self, call: Action | Command) -> Any:
        if isinstance(call, Action):
            arguments = self.topic_ids.fill(dict(call.arguments), as_text=True)
            return self.program.ask(self.server, call.action, arguments)
        self.file.write_text(call.file)
        words = [str(self.file) if word == FILE else word for word in call.words]
        server = ["--bootstrap-server", self.server]
        words = [*server, *words] if call.program in SERVER_FIRST else [*words, *server]
        return self.program.tool(self.server, call.program, words)

    def close(self) -> None:
        """The program belongs to both brokers."""


def lines(text: str) -> list[str]:
    """Without stack traces, which say where in a tool something happened, not what."""
    return [line for line in text.splitlines() if not STACK_TRACE.match(line)]


def confluent_client(server: str) -> LibraryClient:
    return LibraryClient(AdminClient({"bootstrap.servers": server, "socket.timeout.ms": TIMEOUT_MS, "log_level": 0}))


def kafka_python_client(server: str) -> LibraryClient:
    return LibraryClient(KafkaAdminClient(bootstrap_servers=server, request_timeout_ms=TIMEOUT_MS))
