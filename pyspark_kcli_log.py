"""Entry point through which PySpark finds `format("kcli-log")`; see pyspark_kcli."""

try:
    from kspark.log_source import LogSource as DefaultSource
except ImportError:
    pass
else:
    __all__ = ["DefaultSource"]
