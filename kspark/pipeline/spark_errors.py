"""Turns Spark's exceptions into one line in a pipeline's terms, without plans, stacks and error classes."""

from __future__ import annotations

import re
import traceback
from contextlib import contextmanager

from kspark.options import OptionError
from kspark.pipeline.findings import PipelineError, hint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from pyspark.sql import SparkSession

QUERY_LOGGER = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"
# PySpark logs failed analyses with their Java stacks. The pipeline reports them itself.
ANALYSIS_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
UNKNOWN_COLUMN, UNKNOWN_TABLE, UNKNOWN_ROUTINE = "UNRESOLVED_COLUMN", "TABLE_OR_VIEW_NOT_FOUND", "UNRESOLVED_ROUTINE"
FORMAT = re.compile(r"Failed to find (?:the )?data source: ([\w.-]*\w)")
JAR = "; if a jar provides it, add the jar to [spark] with spark.jars.packages"
# Candidates for a misspelt format.
FORMATS = ("kcli", "kcli-log", "kafka", "console", "parquet", "csv", "json", "orc", "text", "avro", "rate", "noop")
POSITION = re.compile(r"line (\d+),? pos(?:ition)? (\d+)")
# Prefixes of Spark's messages: error classes, and the ids of the failed query.
PREFIXES = re.compile(r"^(?:\[[A-Z][A-Z0-9_.]*\] |Query \[id = [^\]]*\] terminated with exception: )*")
SQL_STATE = re.compile(r"\.?\s*SQLSTATE: \w{5}.*$", re.DOTALL)
# Line prefixes after the message: the plan, the SQL or the stack.
BEHIND = ("'", "+-", "==", "JVM stacktrace", "\tat ", "at ")
LIBRARIES = re.compile(r"[/\\](pyspark|py4j)[/\\]")
TRACEBACK = "Traceback (most recent call last):"
JAVA_CAUSE = re.compile(r"^: [\w.$]+: (.*)", re.MULTILINE)
NAME_OF_FAILURE = re.compile(r"[\w.]*\.(?=\w+(?:Error|Exception|Unreachable|Timeout)\b)")


@contextmanager
def blamed(place: str) -> Iterator[None]:
    """Raise errors within the block as PipelineError that names this part of the file."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PipelineError, OptionError, ImportError, OSError) as error:
        raise PipelineError(f"{place}: {error}") from error
    except (PySparkException, Py4JError) as error:
        raise PipelineError(f"{place}: {brief(error)}") from error


@contextmanager
def unlogged() -> Iterator[None]:
    """Disable PySpark's log of failed analyses."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in ANALYSIS_LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


def unlog_query_failures(session: SparkSession) -> None:
    """Disable Spark's log of failed queries, which the pipeline reports itself.

    Executors still log, because their logs have the lines of a failing function.
    """
    log4j: Any = session._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    log4j.core.config.Configurator.setLevel(QUERY_LOGGER, log4j.Level.OFF)


def brief(error: Exception, names: Iterable[str] = ()) -> str:
    """Return an exception as one line. `names` are the sources and steps that SQL may refer to."""
    text = str(error)
    condition, parameters = _condition(error)
    if missing := FORMAT.search(text):
        return f"unknown format {missing[1]}{(hint(missing[1], FORMATS) if missing[1] not in FORMATS else '') or JAR}"
    if condition.startswith(UNKNOWN_COLUMN) and "objectName" in parameters:
        return _located(_unknown_column(parameters), text)
    if condition == UNKNOWN_TABLE:
        name = unquoted(parameters.get("relationName", ""))
        return _located(f"unknown source or step {name}{hint(name, names)}", text)
    if condition == UNKNOWN_ROUTINE:
        return _located(f"unknown function {unquoted(parameters.get('routineName', ''))}", text)
    if TRACEBACK in text:
        return _python_cause(text)
    java = JAVA_CAUSE.search(text)
    return _located(_first_lines(java[1] if java else text), text)


def unknown_table(error: Exception) -> str | None:
    """Return the unknown name that SQL selects from; None if the error is another one."""
    condition, parameters = _condition(error)
    return unquoted(parameters.get("relationName", "")) if condition == UNKNOWN_TABLE else None


def python_failure(error: Exception) -> str:
    """Describe an error in the user's function with its innermost line outside of PySpark."""
    from pyspark.errors import PySparkException

    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not LIBRARIES.search(frame.filename)]
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{brief(error) if isinstance(error, PySparkException) else f'{type(error).__name__}: {error}'}{where}"


def unquoted(name: str) -> str:
    return name.replace("`", "")


def _condition(error: Exception) -> tuple[str, dict[str, str]]:
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException):
        return "", {}
    return error.getCondition() or "", error.getMessageParameters() or {}


def _unknown_column(parameters: dict[str, str]) -> str:
    name = unquoted(parameters["objectName"])
    # Spark proposes the most similar columns.
    known = [unquoted(one) for one in parameters.get("proposal", "").split(", ") if one]
    near = hint(name.rpartition(".")[2], known)
    if near:
        return f"unknown column {name}{near} Columns: {', '.join(known)}"
    return f"unknown column {name}; columns: {', '.join(known)}" if known else f"unknown column {name}"


def _located(message: str, text: str) -> str:
    """Append the line and column in the SQL, counted from 1, if the text has them."""
    position = POSITION.search(text)
    return f"{message} (line {position[1]}, column {int(position[2]) + 1})" if position else message


def _python_cause(text: str) -> str:
    """Return the last line of a traceback from one of Spark's Python processes: the exception."""
    lines = text[text.rindex(TRACEBACK) + len(TRACEBACK) :].splitlines()
    raised = next((line for line in lines if line and not line[0].isspace()), "a Python process of Spark failed")
    return NAME_OF_FAILURE.sub("", SQL_STATE.sub("", raised), count=1)


def _first_lines(text: str) -> str:
    """Return the message without the plan, the SQL and the stack that follow it."""
    lines = []
    for line in text.strip().splitlines():
        if not line.strip() or line.startswith(BEHIND):
            break
        lines.append(line.strip())
    return PREFIXES.sub("", SQL_STATE.sub("", " ".join(lines))) or text
