"""Descriptions of the configurations in `streams_keys.py`."""

TEXTS = {
    "group.streams.assignment.interval.ms": "Minimum time between two assignments of a streams group.",
    "group.streams.heartbeat.interval.ms": "Heartbeat interval of a streams group's members.",
    "group.streams.initial.rebalance.delay.ms": (
        "Time that the first rebalance of an empty streams group waits for more members."
    ),
    "group.streams.max.assignment.interval.ms": "Maximum assignment interval that can be set for a streams group.",
    "group.streams.max.heartbeat.interval.ms": "Maximum heartbeat interval that can be set for a streams group.",
    "group.streams.max.session.timeout.ms": "Maximum session timeout that can be set for a streams group.",
    "group.streams.max.size": "Maximum number of members of a streams group.",
    "group.streams.max.standby.replicas": "Maximum number of standby replicas that can be set for a streams group.",
    "group.streams.min.assignment.interval.ms": "Minimum assignment interval that can be set for a streams group.",
    "group.streams.min.heartbeat.interval.ms": "Minimum heartbeat interval that can be set for a streams group.",
    "group.streams.min.session.timeout.ms": "Minimum session timeout that can be set for a streams group.",
    "group.streams.num.standby.replicas": "Number of standby replicas of each task of a streams group.",
    "group.streams.session.timeout.ms": "Time without a heartbeat after which a member of a streams group is removed.",
}
