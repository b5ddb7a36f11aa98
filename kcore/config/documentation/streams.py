"""What the keys of `streams_keys.py` are for."""

TEXTS = {
    "group.streams.assignment.interval.ms": (
        "How long a streams group waits between two computations of its assignment."
    ),
    "group.streams.heartbeat.interval.ms": "The heartbeat interval of a streams group's members.",
    "group.streams.initial.rebalance.delay.ms": (
        "How long the first rebalance of an empty streams group waits for more members."
    ),
    "group.streams.max.assignment.interval.ms": "The longest assignment interval that a streams group may be given.",
    "group.streams.max.heartbeat.interval.ms": "The longest heartbeat interval that a streams group may be given.",
    "group.streams.max.session.timeout.ms": "The longest session timeout that a streams group may be given.",
    "group.streams.max.size": "The most members of a streams group.",
    "group.streams.max.standby.replicas": "The most standby replicas that a streams group may be given.",
    "group.streams.min.assignment.interval.ms": "The shortest assignment interval that a streams group may be given.",
    "group.streams.min.heartbeat.interval.ms": "The shortest heartbeat interval that a streams group may be given.",
    "group.streams.min.session.timeout.ms": "The shortest session timeout that a streams group may be given.",
    "group.streams.num.standby.replicas": "The number of standby replicas of each task of a streams group.",
    "group.streams.session.timeout.ms": "After how long without a heartbeat a member of a streams group is removed.",
}
