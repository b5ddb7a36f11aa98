"""Scripts of raw group requests, played on a broker and written down, so that two brokers' answers can be compared.

A script is a function that tells a `Stage` what actors send. Each actor has a connection of its own and its name for a
client id, by which its member ids are told apart: `a#1` is the first that was given to actor a, whatever the broker
made of it. The members that a leader is told of have no order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.message import Message
from kcore.protocol.records import CONSUMER_PROTOCOL_SUBSCRIPTION
from tests.raw_client import RawClient

MADE_ID = re.compile(r"^(.*)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
NOT_YET = (14, 15, 16)  # loading, not available, not coordinator: the topic of groups is being made
REBALANCE_IN_PROGRESS = 27
TOPIC = "grp-read"
SESSION_MS, REBALANCE_MS = 30_000, 60_000


class Stage:
    """One broker and one group; `transcript` has every answer."""

    def __init__(self, port: int, group_id: str) -> None:
        self.port = port
        self.group_id = group_id
        self.transcript: list[tuple[str, object]] = []
        self.ids: dict[str, str] = {}  # actor -> the member id that it was given last
        self.generation = -1
        self._clients: dict[str, RawClient] = {}
        self._waiting: dict[str, tuple[str, Api, int]] = {}
        self._shown: dict[str, str] = {}

    def close(self) -> None:
        for client in self._clients.values():
            client.socket.close()

    # --- sending ----------------------------------------------------------------------------------------------------

    def client(self, actor: str) -> RawClient:
        if actor not in self._clients:
            self._clients[actor] = RawClient(self.port, client_id=actor)
        return self._clients[actor]

    def send(self, actor: str, label: str, api: Api, version: int, fields: Mapping[str, Any]) -> None:
        """Without waiting: `hear` takes the answer."""
        assert actor not in self._waiting
        named = {"group_id": self.group_id, **fields}
        self.client(actor).send(api, version, named)
        self._waiting[actor] = (f"{actor} {label}", api, version)

    def hear(self, actor: str) -> Message:
        """The answer that an actor waits for, written down."""
        label, api, version = self._waiting.pop(actor)
        answer = self.client(actor).receive(api, version)
        self.transcript.append((f"{label} v{version}", self._plain(answer)))
        if api is apis.JOIN_GROUP:
            if answer.member_id:
                self.ids[actor] = answer.member_id
            if answer.error_code == 0:
                self.generation = answer.generation_id
        return answer

    def ask(self, actor: str, label: str, api: Api, version: int, fields: Mapping[str, Any]) -> Message:
        self.send(actor, label, api, version, fields)
        return self.hear(actor)

    def look(self, label: str, api: Api, version: int, fields: Mapping[str, Any]) -> Message:
        """What an administrator asks about this group or several; of a list, only this group is written down."""
        client = self.client("administrator")
        answer = client.request(api, version, fields)
        if api is apis.LIST_GROUPS:
            answer.groups = [group for group in answer.groups if group.group_id == self.group_id]
        self.transcript.append((f"{label} v{version}", self._plain(answer)))
        return answer

    # --- requests ---------------------------------------------------------------------------------------------------

    def join_fields(
        self,
        version: int,
        member: str,
        instance: str | None,
        protocols: str,
        kind: str,
        session_ms: int,
        rebalance_ms: int,
    ) -> dict[str, Any]:
        named = [{"name": name, "metadata": subscription(name)} for name in protocols.split(",") if name]
        fields: dict[str, Any] = {
            "session_timeout_ms": session_ms,
            "member_id": self.ids.get(member, member),
            "protocol_type": kind,
            "protocols": named,
        }
        if version >= 1:
            fields["rebalance_timeout_ms"] = rebalance_ms
        if version >= 5:
            fields["group_instance_id"] = instance
        return fields

    def send_join(
        self,
        actor: str,
        member: str = "",
        *,
        version: int = 3,
        instance: str | None = None,
        protocols: str = "range",
        kind: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
    ) -> None:
        """`member` is an actor whose member id is used, or a member id; empty for none."""
        fields = self.join_fields(version, member, instance, protocols, kind, session_ms, rebalance_ms)
        self.send(actor, "joins", apis.JOIN_GROUP, version, fields)

    def join(self, actor: str, member: str = "", **options: Any) -> Message:
        self.send_join(actor, member, **options)
        return self.hear(actor)

    def send_sync(
        self,
        actor: str,
        member: str | None = None,
        assignments: Mapping[str, str] | None = None,
        *,
        version: int = 3,
        generation: int | None = None,
        instance: str | None = None,
        kind: str | None = "consumer",
        name: str | None = "range",
    ) -> None:
        member = actor if member is None else member
        rows = [
            {"member_id": self.ids.get(whose, whose), "assignment": what.encode()}
            for whose, what in (assignments or {}).items()
        ]
        fields: dict[str, Any] = {
            "generation_id": self.generation if generation is None else generation,
            "member_id": self.ids.get(member, member),
            "assignments": rows,
        }
        if version >= 3:
            fields["group_instance_id"] = instance
        if version >= 5:
            fields |= {"protocol_type": kind, "protocol_name": name}
        self.send(actor, "syncs", apis.SYNC_GROUP, version, fields)

    def sync(self, actor: str, *arguments: Any, **options: Any) -> Message:
        self.send_sync(actor, *arguments, **options)
        return self.hear(actor)

    def heartbeat(
        self,
        actor: str,
        member: str | None = None,
        *,
        version: int = 3,
        generation: int | None = None,
        instance: str | None = None,
    ) -> int:
        member = actor if member is None else member
        fields: dict[str, Any] = {
            "generation_id": self.generation if generation is None else generation,
            "member_id": self.ids.get(member, member),
        }
        if version >= 3:
            fields["group_instance_id"] = instance
        return int(self.ask(f"{actor}'s heart", "beats", apis.HEARTBEAT, version, fields).error_code)

    def heartbeat_until(self, actor: str, error: int, **options: Any) -> None:
        """Until the broker has taken in what others sent, or time is up; only the last answer is written down."""
        while True:
            before = len(self.transcript)
            if self.heartbeat(actor, **options) == error:
                return
            del self.transcript[before:]

    def leave(self, actor: str, *members: tuple[str, str | None], version: int = 4) -> Message:
        """(member, instance id) pairs; up to version 2 there is one."""
        ids = [(self.ids.get(member, member), instance) for member, instance in members]
        if version <= 2:
            fields: dict[str, Any] = {"member_id": ids[0][0]}
        else:
            fields = {"members": [{"member_id": member, "group_instance_id": instance} for member, instance in ids]}
        return self.ask(f"{actor}'s way", "leaves", apis.LEAVE_GROUP, version, fields)

    def commit(
        self,
        actor: str,
        member: str = "",
        *,
        generation: int | None = None,
        instance: str | None = None,
        version: int = 7,
    ) -> int:
        fields = {
            "generation_id_or_member_epoch": self.generation if generation is None else generation,
            "member_id": self.ids.get(member, member),
            "group_instance_id": instance,
            "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0, "committed_offset": 1}]}],
        }
        answer = self.ask(f"{actor}'s work", "commits", apis.OFFSET_COMMIT, version, fields)
        return int(answer.topics[0].partitions[0].error_code)

    def stable(self, *actors: str, **options: Any) -> None:
        """A stable group of these members, the first of which leads; each is assigned its name."""
        for number, actor in enumerate(actors):
            self.send_join(actor, **options)
            if number == 0:
                self.hear(actor)
            else:
                for other in actors[:number]:
                    self.heartbeat_until(other, REBALANCE_IN_PROGRESS)
                    self.send_join(other, other, **options)
                for other in actors[: number + 1]:
                    self.hear(other)
            for follower in actors[1 : number + 1]:
                self.send_sync(follower)
            self.send_sync(actors[0], None, {name: name for name in actors[: number + 1]})
            for other in actors[: number + 1]:
                self.hear(other)

    # --- writing down -----------------------------------------------------------------------------------------------

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Message):
            return {field.name: self._plain(getattr(value, field.name)) for field in value._struct.fields}
        if isinstance(value, list):
            return sorted((self._plain(item) for item in value), key=repr)
        return self._named(value) if isinstance(value, str) else value

    def _named(self, text: str) -> str:
        made = MADE_ID.match(text)
        if made is None:
            return text
        if text not in self._shown:
            owner = made.group(1)
            earlier = sum(name.startswith(f"{owner}#") for name in self._shown.values())
            self._shown[text] = f"{owner}#{earlier + 1}"
        return self._shown[text]


def subscription(protocol: str) -> bytes:
    """What a consumer of one topic says; Kafka 3.9 fails over bytes that are something else."""
    return CONSUMER_PROTOCOL_SUBSCRIPTION.encode(0, {"topics": [TOPIC], "user_data": protocol.encode()})


def wait_for_groups(port: int, group_ids: Sequence[str]) -> None:
    """Has the topic of groups made, and waits until every one of these groups is served."""
    with RawClient(port) as client:
        for group_id in group_ids:
            while client.request(apis.FIND_COORDINATOR, 2, {"key": group_id, "key_type": 0}).error_code in NOT_YET:
                pass
            fields = {"group_id": group_id, "member_id": "nobody"}
            while client.request(apis.LEAVE_GROUP, 2, fields).error_code in NOT_YET:
                pass
