"""What Spark raises, as one line: without its error classes, ids, plans and stacks."""

from __future__ import annotations

import pytest

from kspark.pipeline.spark_errors import brief

FAILED_QUERY = "[STREAM_FAILED] Query [id = 1c81746d, runId = 9d8eca78] terminated with exception: "


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[MISSING_AGGREGATION] The expression is in no aggregate.\nAdd it to the GROUP BY. SQLSTATE: 42803;\n"
            "Aggregate [carrier#2L]\n+- SubqueryAlias flights",
            "The expression is in no aggregate. Add it to the GROUP BY",
        ),
        (
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'selekt'. SQLSTATE: 42601 (line 1, pos 0)\n\n== SQL ==\n"
            "selekt * from flights\n^^^\n",
            "Syntax error at or near 'selekt' (line 1, column 1)",
        ),
        (
            f"{FAILED_QUERY}[USER_RAISED_EXCEPTION] '(delay < 10)' is not true! SQLSTATE: P0001\n\tat a.b.C(D.java:1)",
            "'(delay < 10)' is not true!",
        ),
        (
            f"{FAILED_QUERY}[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source "
            'perform initialOffset: Traceback (most recent call last):\n  File "a.py", line 1, in main\n    go()\n'
            "kcore.client.errors.BrokerUnreachable: localhost:1: Connection refused\n SQLSTATE: 38000\n\tat a.b",
            "BrokerUnreachable: localhost:1: Connection refused",
        ),
        (
            "An error occurred while calling o195.load.\n: org.apache.spark.SparkClassNotFoundException: "
            "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: consol. Make sure. SQLSTATE: 42K02\n\tat a",
            "unknown format consol; did you mean 'console'?",
        ),
        (
            "Failed to find data source: kafka. Please deploy the application as per the guide.",
            "unknown format kafka; if a jar provides it, add the jar to [spark] with spark.jars.packages",
        ),
    ],
)
def test_an_error_is_one_short_line(text: str, line: str) -> None:
    assert brief(RuntimeError(text)) == line
