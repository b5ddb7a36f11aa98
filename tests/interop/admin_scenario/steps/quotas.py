"""Client quotas: setting, describing and taking them away, by entity."""

from __future__ import annotations

from tests.interop.admin_scenario.step import java, tool

CLIENTS = ("--entity-type", "clients")
USER_AND_CLIENT = (
    "--entity-type",
    "users",
    "--entity-name",
    "carl",
    "--entity-type",
    "clients",
    "--entity-name",
    "app",
)

STEPS = (
    java(
        "set quotas",
        "alterClientQuotas",
        alterations=[
            [{"user": "anna"}, {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.5}],
            [{"client-id": "reports"}, {"request_percentage": 50.0}],
            [{"user": "anna", "client-id": "reports"}, {"controller_mutation_rate": 3.0}],
            [{"user": None}, {"producer_byte_rate": 500.0}],
            [{"client-id": None}, {"consumer_byte_rate": 700.0}],
            [{"user": None, "client-id": None}, {"consumer_byte_rate": 800.0}],
            [{"ip": "192.0.2.1"}, {"connection_creation_rate": 9.0}],
            [{"ip": None}, {"connection_creation_rate": 90.0}],
        ],
    ),
    java(
        "set quotas, validate only",
        "alterClientQuotas",
        alterations=[[{"user": "bert"}, {"producer_byte_rate": 1.0}]],
        validateOnly=True,
    ),
    *(
        java(f"set a quota that cannot be: {about}", "alterClientQuotas", alterations=[[entity, quotas]])
        for about, entity, quotas in (
            ("unknown key", {"user": "anna"}, {"bytes": 1.0}),
            ("zero", {"user": "anna"}, {"producer_byte_rate": 0.0}),
            ("negative", {"user": "anna"}, {"producer_byte_rate": -5.0}),
            ("fraction of a byte", {"user": "anna"}, {"producer_byte_rate": 0.25}),
            ("key of an address for a user", {"user": "anna"}, {"connection_creation_rate": 1.0}),
            ("key of a user for an address", {"ip": "192.0.2.1"}, {"producer_byte_rate": 1.0}),
            ("no address", {"ip": "not an address"}, {"connection_creation_rate": 1.0}),
            ("address and user", {"ip": "192.0.2.1", "user": "anna"}, {"connection_creation_rate": 1.0}),
            ("unknown entity", {"planet": "mars"}, {"producer_byte_rate": 1.0}),
            ("no entity", {}, {"producer_byte_rate": 1.0}),
            ("empty name", {"user": ""}, {"producer_byte_rate": 1.0}),
        )
    ),
    *(
        java(f"describe quotas: {about}", "describeClientQuotas", components=components, strict=strict)
        for about, components, strict in (
            ("all", [], False),
            ("all, strictly", [], True),
            ("one user", [["user", "anna"]], False),
            ("one user, strictly", [["user", "anna"]], True),
            ("any user", [["user"]], False),
            ("the default user", [["user", None]], False),
            ("user and client", [["user", "anna"], ["client-id", "reports"]], True),
            ("default user and client", [["user", None], ["client-id", None]], True),
            ("addresses", [["ip"]], True),
            ("an unknown user", [["user", "zoe"]], True),
            ("an unknown entity", [["planet", "mars"]], False),
            ("a type twice", [["user", "anna"], ["user", "bert"]], False),
            ("an address and a user", [["user", "anna"], ["ip", "192.0.2.1"]], False),
        )
    ),
    tool("describe clients", "kafka-configs", "--describe", *CLIENTS),
    tool("describe users", "kafka-configs", "--describe", "--entity-type", "users"),
    tool("describe the default user", "kafka-configs", "--describe", "--entity-type", "users", "--entity-default"),
    tool("describe addresses", "kafka-configs", "--describe", "--entity-type", "ips"),
    tool(
        "alter a client",
        "kafka-configs",
        *("--alter", *CLIENTS, "--entity-name", "loader", "--add-config", "producer_byte_rate=1024"),
    ),
    tool(
        "alter a client with an unknown key",
        "kafka-configs",
        *("--alter", *CLIENTS, "--entity-name", "loader", "--add-config", "bytes=1024"),
    ),
    tool(
        "delete a quota of a client",
        "kafka-configs",
        *("--alter", *CLIENTS, "--entity-name", "loader", "--delete-config", "producer_byte_rate"),
    ),
    tool(
        "alter a user's client",
        "kafka-configs",
        *("--alter", *USER_AND_CLIENT, "--add-config", "consumer_byte_rate=2048,request_percentage=150"),
    ),
    tool("describe a user's client", "kafka-configs", "--describe", *USER_AND_CLIENT),
    tool(
        "delete quotas of a user's client",
        "kafka-configs",
        *("--alter", *USER_AND_CLIENT, "--delete-config", "consumer_byte_rate,request_percentage"),
    ),
    tool(
        "alter an address",
        "kafka-configs",
        *(
            "--alter",
            "--entity-type",
            "ips",
            "--entity-name",
            "198.51.100.7",
            "--add-config",
            "connection_creation_rate=5",
        ),
    ),
    tool(
        "delete a quota of an address",
        "kafka-configs",
        *(
            "--alter",
            "--entity-type",
            "ips",
            "--entity-name",
            "198.51.100.7",
            "--delete-config",
            "connection_creation_rate",
        ),
    ),
    tool(
        "alter what is no address",
        "kafka-configs",
        *(
            "--alter",
            "--entity-type",
            "ips",
            "--entity-name",
            "no address",
            "--add-config",
            "connection_creation_rate=5",
        ),
    ),
    java(
        "take quotas away",
        "alterClientQuotas",
        alterations=[
            [{"user": "anna"}, {"producer_byte_rate": None, "request_percentage": None}],
            [{"client-id": "reports"}, {"request_percentage": None}],
            [{"user": "anna", "client-id": "reports"}, {"controller_mutation_rate": None}],
            [{"user": None}, {"producer_byte_rate": None}],
            [{"client-id": None}, {"consumer_byte_rate": None}],
            [{"user": None, "client-id": None}, {"consumer_byte_rate": None}],
            [{"ip": "192.0.2.1"}, {"connection_creation_rate": None}],
            [{"ip": None}, {"connection_creation_rate": None}],
        ],
    ),
    java("describe quotas: what is left", "describeClientQuotas", components=[]),
)
