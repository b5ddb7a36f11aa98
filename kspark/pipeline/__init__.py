"""Declarative pipelines: a TOML file of sources, steps and sinks that runs on Spark with one command."""
