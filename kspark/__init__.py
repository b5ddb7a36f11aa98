"""PySpark's source and sink of topics, the source of segment files, and the runner of pipelines.

    spark.read.format("kcli").option("kafka.bootstrap.servers", "localhost:9092").option("subscribe", "flights").load()

Only the modules that subclass its classes import pyspark: `source.py`, `log_source.py` and what they make.
"""
