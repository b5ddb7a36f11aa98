"""The log on disk, in Apache Kafka's format. Crash policy: the log is the truth; everything else is derived from it."""
