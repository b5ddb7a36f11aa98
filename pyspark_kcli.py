"""Where PySpark finds `format("kcli")`: it imports every top-level module whose name begins with `pyspark_`.

An import error in one such module would hide all of them, so without PySpark this one is empty.
"""

try:
    from kspark.source import KcliSource as DefaultSource
except ImportError:
    pass
else:
    __all__ = ["DefaultSource"]
