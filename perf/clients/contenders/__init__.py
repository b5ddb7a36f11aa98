"""The clients, one a file: `produce`, `consume` and `latency`, each of a Task, each tuned as its users would."""
