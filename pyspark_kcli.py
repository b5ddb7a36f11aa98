"""Entry point through which PySpark finds `format("kcli")`.

PySpark imports every top-level module whose name begins with `pyspark_`. An import error in one of them would hide all
formats, so this module is empty if PySpark is not installed.
"""

try:
    from kspark.source import KcliSource as DefaultSource
except ImportError:
    pass
else:
    __all__ = ["DefaultSource"]
