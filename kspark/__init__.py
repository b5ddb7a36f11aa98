"""PySpark source and sink for topics, source for segment files, and runner of pipelines.

    spark.read.format("kcli").option("kafka.bootstrap.servers", "localhost:9092").option("subscribe", "flights").load()

Few modules import pyspark when they are imported: `source.py`, `log_source.py` and the readers and writers they create.
"""
