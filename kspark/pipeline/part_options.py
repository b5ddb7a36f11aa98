"""Checks the options of a pipeline's sources and sinks without Spark and without a cluster.

The formats of this package have tables of their options, so a misspelt option is a mistake. Options of all other
formats are passed to Spark unchecked.
"""

from __future__ import annotations

from kspark.log_options import LOG_OPTIONS, log_mistakes
from kspark.options import KAFKA_PREFIX, Options
from kspark.pipeline.findings import nearest
from kspark.sink_options import SINK_OPTIONS, option_mistakes
from kspark.source_options import DRAIN_FILE, SERVERS, SOURCE_OPTIONS, source_mistakes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kcore.client.config.client_config import ClientConfig
    from kspark.pipeline.definition import Pipeline, Sink, Source
    from kspark.pipeline.findings import Findings

TOPICS, LOGS = "kcli", "kcli-log"
# Spark's formats that write files. Each needs a path and supports only append.
FILE_FORMATS = ("parquet", "csv", "json", "orc", "text", "avro", "xml")


def check_options(pipeline: Pipeline, findings: Findings) -> Pipeline:
    """Check all options and return the pipeline with misspelt options corrected.

    Later checks use the corrected pipeline, so that they find other mistakes and do not report the same one again.
    """
    return pipeline._replace(
        sources=[_checked_source(source, f"sources.{source.name}", findings) for source in pipeline.sources],
        sinks=[_checked_sink(sink, f"sinks.{sink.name}", findings) for sink in pipeline.sinks],
    )


def _checked_source(source: Source, place: str, findings: Findings) -> Source:
    from kcore.client.config.client_config import ConsumerConfig

    options = source.options
    if source.format == TOPICS:
        known = [name for name in SOURCE_OPTIONS if name != DRAIN_FILE]
        options = _corrected(options, known, ConsumerConfig, place, findings)
        _report(source_mistakes(options, is_streaming=source.is_stream), place, findings)
        _check_client(options, ConsumerConfig, place, findings)
    elif source.format == LOGS:
        options = _corrected(options, LOG_OPTIONS, None, place, findings)
        path = {} if source.path is None else {"path": source.path}
        _report(log_mistakes({**options, **path}), place, findings)
        if source.is_stream:
            findings.mistake(f"{place}.stream", f"format {LOGS} is read once: remove stream")
    return source._replace(options=options)


def _checked_sink(sink: Sink, place: str, findings: Findings) -> Sink:
    from kcore.client.config.client_config import ProducerConfig

    options = sink.options
    if sink.format == TOPICS:
        options = _corrected(options, SINK_OPTIONS, ProducerConfig, place, findings)
        _report(option_mistakes(options), place, findings)
        _check_client(options, ProducerConfig, place, findings)
    elif sink.format == LOGS:
        findings.mistake(f"{place}.format", f"{LOGS} is a format of sources; write to a topic with {TOPICS}")
    elif sink.format in FILE_FORMATS and sink.path is None and "path" not in Options(options):
        findings.mistake(f"{place}.path", f"is missing: name the directory for the {sink.format} files")
    return sink._replace(options=options)


def _corrected(
    given: dict[str, str], known: Iterable[str], client: type[ClientConfig] | None, place: str, findings: Findings
) -> dict[str, str]:
    """Report unknown options, and return the options with misspelt names corrected.

    Kafka clients ignore unknown settings, because they may be for another version. So an unknown `kafka.*` option is a
    mistake if it is similar to a known setting, otherwise a warning.
    """
    known = tuple(known)
    settings = tuple(client.KEYS) if client is not None else ()
    accepted = {name.lower() for name in (*known, *(f"{KAFKA_PREFIX}{setting}" for setting in settings))}
    corrected: dict[str, str] = {}
    for name, value in given.items():
        if name.lower() in accepted:
            corrected[name] = value
            continue
        is_setting = client is not None and name.lower().startswith(KAFKA_PREFIX)
        prefix, names = (KAFKA_PREFIX, settings) if is_setting else ("", known)
        near = nearest(name[len(prefix) :], names)
        where = f"{place}.options.{name}"
        if near is not None:
            findings.mistake(where, f"unknown option; did you mean '{prefix}{near}'?")
            corrected.setdefault(f"{prefix}{near}", value)
        elif is_setting:
            findings.warnings.append(f"{where}: unknown setting of the client; it is ignored")
            corrected[name] = value
        else:
            also = f" and {KAFKA_PREFIX}*" if settings else ""
            findings.mistake(where, f"unknown option; the options are {', '.join(known)}{also}")
    return corrected


def _report(mistakes: Iterable[str], place: str, findings: Findings) -> None:
    for text in mistakes:
        findings.mistake(f"{place}.options", text)


def _check_client(given: dict[str, str], kind: type[ClientConfig], place: str, findings: Findings) -> None:
    """Check the client settings with the client's own rules."""
    from kcore.config.definition import ConfigException

    settings = Options(given).of_client()
    if settings.get(SERVERS):
        try:
            kind(settings)
        except ConfigException as error:
            findings.mistake(f"{place}.options", str(error))
