"""Shared by `kcli pipeline` and the demo: starting and ending Spark, and the views of a pipeline."""
