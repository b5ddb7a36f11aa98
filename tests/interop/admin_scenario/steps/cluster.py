"""The cluster as a whole: its brokers, versions and features, and what a broker without users or transactions says."""

from __future__ import annotations

from kcore.protocol import apis
from tests.interop.admin_scenario.step import aiokafka, confluent, java, kafka_python, tool, wire

STEPS = (
    java("describe the cluster", "describeCluster"),
    confluent("describe the cluster", lambda admin: admin.describe_cluster(include_authorized_operations=True)),
    kafka_python("describe the cluster", lambda admin: admin.describe_cluster()),
    aiokafka("describe the cluster", lambda admin: admin.describe_cluster()),
    wire("describe the cluster", apis.DESCRIBE_CLUSTER, 1, include_cluster_authorized_operations=True, endpoint_type=1),
    wire("describe the controllers", apis.DESCRIBE_CLUSTER, 1, endpoint_type=2),
    wire("describe an unknown kind of endpoints", apis.DESCRIBE_CLUSTER, 1, endpoint_type=3),
    tool("cluster id", "kafka-cluster", "cluster-id"),
    # Versions and features
    tool("versions", "kafka-broker-api-versions"),
    wire("versions", apis.API_VERSIONS, 2),
    wire("versions, with features", apis.API_VERSIONS, 3, client_software_name="scenario", client_software_version="1"),
    wire(
        "versions, to a client without a name",
        apis.API_VERSIONS,
        3,
        client_software_name="",
        client_software_version="",
    ),
    java("describe features", "describeFeatures"),
    kafka_python("describe features", lambda admin: admin.describe_features()),
    tool("describe", "kafka-features", "describe"),
    tool("upgrade an unknown feature", "kafka-features", "upgrade", "--feature", "no.such.feature=1"),
    tool("downgrade an unknown feature", "kafka-features", "downgrade", "--feature", "no.such.feature=0"),
    tool("disable an unknown feature", "kafka-features", "disable", "--feature", "no.such.feature"),
    java("update an unknown feature", "updateFeatures", features={"no.such.feature": [1, "UPGRADE"]}),
    java("update a feature too far", "updateFeatures", features={"metadata.version": [99, "UPGRADE"]}),
    java(
        "update a feature, validate only",
        "updateFeatures",
        features={"metadata.version": [20, "SAFE_DOWNGRADE"]},
        validateOnly=True,
    ),
    java("describe the quorum", "describeMetadataQuorum"),
    # What there is none of
    java("describe transactions", "describeTransactions", ids=["no-such-transaction"]),
    java("list transactions", "listTransactions"),
    java("describe users' credentials", "describeUserScramCredentials"),
    wire(
        "describe credentials of some",
        apis.DESCRIBE_USER_SCRAM_CREDENTIALS,
        0,
        users=[{"name": name} for name in ("anna", "bert", "anna", "")],
    ),
    wire("describe all credentials", apis.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=None),
    java("describe rights", "describeAcls"),
    java("list client metrics", "listClientMetricsResources"),
)
