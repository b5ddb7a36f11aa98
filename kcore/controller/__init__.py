"""The controller and the stores in which it keeps the cluster's metadata."""
