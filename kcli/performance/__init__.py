"""The measurements behind `kcli perf-test`: what is counted, and the lines that Kafka's perf tools print of it."""
