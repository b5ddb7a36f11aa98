"""Sends requests about groups and transactions to their coordinators.

A coordinator is looked up once (FindCoordinator), and again when it has moved. Temporary errors (it is loading, or not
available) are retried until the client's request timeout.
"""

from __future__ import annotations

from functools import partial

from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.results import raise_failure
from kcore.client.errors import ClientError
from kcore.client.metadata.cluster import Node
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from kcore.client.admin.results import Failure

    Outcome = TypeVar("Outcome")

GROUP_KEY, TRANSACTION_KEY = 0, 1
KEY_NAMES = {GROUP_KEY: "group", TRANSACTION_KEY: "transactional id"}
# Temporary errors: loading, not available, not the coordinator, or the end of a transaction is in progress.
PASSING_CODES = frozenset({14, 15, 16, 51})


class CoordinatorCalls(AdminCalls):
    __slots__ = ()

    def _ask_coordinator(
        self, key_type: int, key: str, ask: Callable[[Node, list[str]], dict[str, Outcome | Failure]]
    ) -> Outcome:
        """Ask about one group or transaction. Raises its failure."""
        outcome = self._ask_coordinators(key_type, [key], ask)[key]
        if isinstance(outcome, (KafkaError, ClientError)):
            raise outcome
        return outcome

    def _ask_coordinators(
        self, key_type: int, keys: Iterable[str], ask: Callable[[Node, list[str]], dict[str, Outcome]]
    ) -> dict[str, Outcome | Failure]:
        """Ask each coordinator about its keys. Keys with temporary errors are asked about again."""
        wanted = list(dict.fromkeys(keys))
        outcomes: dict[str, Outcome | Failure] = {}

        def attempt() -> None:
            pending = [key for key in wanted if key not in outcomes or _passes(outcomes[key])]
            for node, coordinated in self._by_coordinator(key_type, pending, outcomes).items():
                try:
                    outcomes.update(ask(node, coordinated))
                except ClientError:
                    # Look up the coordinator again at the next attempt.
                    self._forget_coordinators(key_type, coordinated)
                    raise
            self._forget_coordinators(key_type, [key for key in wanted if _passes(outcomes.get(key))])
            for outcome in outcomes.values():
                if isinstance(outcome, KafkaError) and _passes(outcome):
                    raise outcome

        try:
            self.client.retrying(attempt, self._api_timeout_ms)
        except KafkaError as error:
            if not _passes(error):
                raise
        return {key: outcomes[key] for key in wanted}

    def _forget_coordinators(self, key_type: int, keys: Iterable[str]) -> None:
        for key in keys:
            self._coordinators.pop((key_type, key), None)

    def _by_coordinator(self, key_type: int, keys: Iterable[str], outcomes: dict[str, Any]) -> dict[Node, list[str]]:
        """Return the keys by coordinator. A key whose coordinator cannot be found gets its failure in `outcomes`."""
        coordinated: dict[Node, list[str]] = {}
        for key in keys:
            node = self._coordinators.get((key_type, key))
            if node is None:
                try:
                    find = partial(self._find_coordinator, key_type, key)
                    node = self.client.retrying(find, self._api_timeout_ms)
                except KafkaError as error:
                    outcomes[key] = error
                    continue
                self._coordinators[key_type, key] = node
            coordinated.setdefault(node, []).append(key)
        return coordinated

    def _find_coordinator(self, key_type: int, key: str) -> Node:
        response = self._request(apis.FIND_COORDINATOR, {"key": key, "key_type": key_type})
        raise_failure(response.error_code, f"{KEY_NAMES[key_type]} {key}", response.error_message)
        return Node(response.node_id, response.host, response.port)


def _passes(outcome: object) -> bool:
    """Return whether an outcome, or that of one of its partitions, is a temporary error."""
    if isinstance(outcome, dict):
        return any(map(_passes, outcome.values()))
    return isinstance(outcome, KafkaError) and outcome.code in PASSING_CODES
