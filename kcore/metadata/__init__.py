"""The cluster's metadata: brokers, topics, partitions and configurations as one immutable image, and its cache."""
