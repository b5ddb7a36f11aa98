"""Shell completion of names that only the cluster knows. Click itself completes commands and options.

    eval "$(kcli completion bash)"

The shell waits for the answer after each Tab. So the cluster has KCLI_COMPLETION_TIMEOUT_MS (1000 ms) to answer. After
that, and after any error, nothing is completed and nothing is printed.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    import click

    from kcore.client.cluster_client import ClusterClient

# Completion scripts run: _KCLI_COMPLETE=bash_complete kcli
VARIABLE = "_KCLI_COMPLETE"
PROGRAM = "kcli"
TIMEOUT_VARIABLE = "KCLI_COMPLETION_TIMEOUT_MS"
DEFAULT_TIMEOUT_MS = 1000


def answer() -> int:
    """Answers a completion script. Returns the exit code, which is always 0."""
    import signal
    from contextlib import suppress

    from click.shell_completion import get_completion_class

    from kcli.cli import kcli

    shell, _, instruction = os.environ[VARIABLE].partition("_")
    completion = get_completion_class(shell)
    if completion is None:
        return 0
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, timeout_ms() / 1000)
    with suppress(Exception, SystemExit):
        made = completion(kcli, {}, PROGRAM, VARIABLE)
        text = made.source() if instruction == "source" else made.complete()
        if text:
            print(text)
    return 0


def timeout_ms() -> int:
    """How long the cluster may take to answer."""
    text = os.environ.get(TIMEOUT_VARIABLE, "")
    return int(text) if text.isdecimal() and int(text) > 0 else DEFAULT_TIMEOUT_MS


def _give_up(number: int, frame: object) -> None:
    os._exit(0)


def complete_topics(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Topics; in a comma-separated list, its last item is completed."""
    return _pieces(incomplete, lambda: _ask(context, _topics))


def complete_groups(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Consumer group ids."""
    return _starting(incomplete, _ask(context, _groups))


def complete_brokers(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Broker ids."""
    return _pieces(incomplete, lambda: _ask(context, _brokers))


def complete_contexts(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Contexts, from their file."""
    from kcli.contexts import Contexts

    return _starting(incomplete, Contexts.load().named)


def complete_entities(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Values of --entity-name, by --entity-type."""
    complete = {"topics": complete_topics, "brokers": complete_brokers, "broker-loggers": complete_brokers}
    by_type = {**complete, "groups": complete_groups}
    kind = str(context.params.get("entity_type"))
    return by_type[kind](context, parameter, incomplete) if kind in by_type else []


def complete_configs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Configuration names: of brokers or groups if the options name one, otherwise of topics."""
    is_removal = parameter.name == "delete_config"
    names = _config_names(context.params)
    return _pieces(incomplete, lambda: (name if is_removal else f"{name}=" for name in names))


def _config_names(said: Mapping[str, Any]) -> Iterable[str]:
    if said.get("entity_type") == "brokers" or said.get("broker") is not None or said.get("broker_defaults"):
        from kcore.config.broker_keys import BROKER_KEYS

        return BROKER_KEYS
    if said.get("entity_type") == "groups" or said.get("group") is not None:
        from kcore.config.group_configs import GROUP_KEYS

        return GROUP_KEYS
    from kcore.config.topic_keys import TOPIC_KEYS

    return TOPIC_KEYS


def complete_quotas(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of quotas."""
    names = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
    is_removal = parameter.name == "delete_config"
    listed = (*names, "connection_creation_rate")
    return _pieces(incomplete, lambda: (name if is_removal else f"{name}=" for name in listed))


def _topics(client: ClusterClient) -> Iterable[str]:
    return client.update_metadata(None).topics


def _brokers(client: ClusterClient) -> Iterable[str]:
    return map(str, client.update_metadata([]).nodes)


def _groups(client: ClusterClient) -> Iterable[str]:
    from kcore.client.admin.groups import GroupAdmin

    return [group.group_id for group in GroupAdmin(client).list_groups()[0]]


def _ask(context: click.Context, question: Callable[[ClusterClient], Iterable[str]]) -> list[str]:
    """Asks the cluster that the command line names."""
    from kcli.options import connect

    timeouts = ("request.timeout.ms", "default.api.timeout.ms", "socket.connection.setup.timeout.ms")
    properties = dict.fromkeys(timeouts, str(timeout_ms()))
    with connect(context.params["bootstrap_server"], properties) as client:
        return list(question(client))


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _pieces(incomplete: str, names: Callable[[], Iterable[str]]) -> list[str]:
    """Completes the last item of a comma-separated list; each answer includes the items before it."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting(last, names())]
