"""The measurements of `kcli perf-test`, and the output lines of Kafka's perf tools."""
