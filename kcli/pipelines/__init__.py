"""What `kcli pipeline` and the demo's pipeline share: Spark, started and ended, and what is shown of a pipeline."""
