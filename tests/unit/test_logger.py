"""One record, one line, one write; and never an exception."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from kcore import logger

LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (DEBUG|INFO|WARN|ERROR) \[([\w.]+)\] (.*)")


class Recorder(io.StringIO):
    """A stream that remembers every write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return len(text)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    logger.set_stream(recorder)
    yield recorder
    logger.set_stream(None)
    logger.set_level("INFO")


def test_record_is_one_line_in_log4j_form(recorder: Recorder) -> None:
    logger.get_logger("kcore.storage.log").info("rolled at %d of %s", 4711, "flights-0")
    [line] = recorder.writes
    match = LINE.fullmatch(line.rstrip("\n"))
    assert match is not None
    assert match.groups() == ("INFO", "kcore.storage.log", "rolled at 4711 of flights-0")
    assert line.endswith("\n")


def test_time_has_a_comma_before_the_milliseconds() -> None:
    assert logger.timestamp(1.0005).endswith(",000")
    assert logger.timestamp(86_400.123).endswith(",123")


@pytest.mark.parametrize(
    ("level", "seen"),
    [("debug", "DEBUG INFO WARN ERROR"), ("INFO", "INFO WARN ERROR"), ("Warn", "WARN ERROR"), ("ERROR", "ERROR")],
)
def test_level_decides_what_is_written(recorder: Recorder, level: str, seen: str) -> None:
    logger.set_level(level)
    log = logger.get_logger("test")
    log.debug("x")
    log.info("x")
    log.warn("x")
    log.error("x")
    assert [LINE.match(line)[1] for line in recorder.writes] == seen.split()  # type: ignore[index]


def test_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown log level 'LOUD': must be one of"):
        logger.set_level("LOUD")


def test_percent_signs_of_a_message_without_arguments_are_kept(recorder: Recorder) -> None:
    logger.get_logger("test").warn("disk 100% full")
    assert recorder.writes[0].endswith("disk 100% full\n")


def test_arguments_that_do_not_fit_are_not_an_error(recorder: Recorder) -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    log = logger.get_logger("test")
    log.info("%d records", "no number")
    log.info("%s", Broken())
    log.info("nothing to fill in", 1)
    assert len(recorder.writes) == 3
    assert "%d records" in recorder.writes[0]


def test_cause_follows_in_the_same_write(recorder: Recorder) -> None:
    try:
        raise OSError(28, "No space left on device")
    except OSError as error:
        logger.get_logger("test").error("append failed", cause=error)
    [text] = recorder.writes
    assert text.splitlines()[0].endswith("append failed")
    assert "OSError: [Errno 28] No space left on device" in text


def test_warn_once_says_each_text_once(recorder: Recorder) -> None:
    log = logger.get_logger("test_warn_once")
    for _ in range(3):
        log.warn_once("key %s is not used", "a")
        log.warn_once("key %s is not used", "b")
    assert len(recorder.writes) == 2


def test_memory_of_warn_once_is_bounded(recorder: Recorder) -> None:
    log = logger.get_logger("test_bounded")
    for number in range(3 * logger.MAX_REMEMBERED_WARNINGS):
        log.warn_once("key %d", number)
    assert len(recorder.writes) == 3 * logger.MAX_REMEMBERED_WARNINGS
    assert len(logger.OUTPUT.warned) <= logger.MAX_REMEMBERED_WARNINGS


def test_stream_that_cannot_be_written_is_survived(recorder: Recorder) -> None:
    logger.set_stream(io.TextIOWrapper(io.BufferedReader(io.BytesIO())))
    logger.get_logger("test").error("lost")
    closed = io.StringIO()
    closed.close()
    logger.set_stream(closed)
    logger.get_logger("test").error("lost")


def test_lines_of_threads_do_not_mix(recorder: Recorder) -> None:
    log = logger.get_logger("test")

    def write() -> None:
        for _ in range(200):
            log.info("x" * 500)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recorder.writes) == 800
    assert all(LINE.fullmatch(line.rstrip("\n")) for line in recorder.writes)


def test_import_brings_neither_logging_nor_other_heavy_modules() -> None:
    code = "import sys; before = set(sys.modules); import kcore.logger; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert not {"logging", "traceback", "typing", "threading", "dataclasses"} & set(done.stdout.split())


def test_records_go_to_stderr() -> None:
    code = "import kcore.logger as l; l.get_logger('x').info('hello')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.endswith("INFO [x] hello\n")


class TestLimitedLines:
    """What a client can cause in a loop."""

    @pytest.fixture(autouse=True)
    def _forget(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(logger, "LIMITED", logger.LimitedLines())

    def flood(self, client: str, cause: str, lines: int) -> None:
        log = logger.get_logger("test.limited")
        for number in range(lines):
            log.limited(logger.WARN, client, cause, "request %d", number)

    def test_each_client_and_cause_has_a_few_lines_and_a_count(self, recorder: Recorder) -> None:
        self.flood("10.0.0.1", "malformed", 1_000)
        self.flood("10.0.0.1", "too large", 3)
        self.flood("10.0.0.2", "malformed", logger.LINES_EACH + 1)
        assert len(recorder.writes) == 2 * logger.LINES_EACH + 3
        recorder.writes.clear()
        logger.LIMITED.report(0)
        assert [line.partition("] ")[2] for line in recorder.writes] == [
            "WARN [test.limited] 990 more lines were left out: malformed, client 10.0.0.1\n",
            "WARN [test.limited] 1 more lines were left out: malformed, client 10.0.0.2\n",
        ]

    def test_the_next_minute_begins_with_lines(self, recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
        self.flood("10.0.0.1", "malformed", 12)
        recorder.writes.clear()
        later_s = time.monotonic() + logger.INTERVAL_S
        monkeypatch.setattr(logger.time, "monotonic", lambda: later_s)
        self.flood("10.0.0.1", "malformed", 1)
        assert [line.partition("] ")[2] for line in recorder.writes] == [
            "WARN [test.limited] 2 more lines were left out: malformed, client 10.0.0.1\n",
            "WARN [test.limited] request 0\n",
        ]

    def test_very_many_clients_are_counted_together(self, recorder: Recorder) -> None:
        clients = 3 * logger.MAX_LIMITED
        for number in range(clients):
            self.flood(f"client-{number}", "malformed", 1)
        assert len(logger.LIMITED.causes) == logger.MAX_LIMITED
        assert len(recorder.writes) == logger.MAX_LIMITED
        logger.LIMITED.report(0)
        assert recorder.writes[-1].endswith(
            f"{clients - logger.MAX_LIMITED} more lines of other clients and causes were left out\n"
        )

    def test_a_level_that_is_off_counts_nothing(self, recorder: Recorder) -> None:
        logger.set_level("ERROR")
        self.flood("10.0.0.1", "malformed", 100)
        assert logger.LIMITED.causes == {}
