"""Signals as the end of a loop: what may be broken off, what is finished first, and what is put back."""

from __future__ import annotations

import os
import select
import signal
import threading

import pytest

from kcli.console.interruption import Interrupted, Interruption
from kcli.console.output_stream import OutputStream


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_wakes_and_is_noted(number: signal.Signals, code: int) -> None:
    before = signal.getsignal(number)
    woken: list[int] = []
    with Interruption(lambda: woken.append(1)) as interruption:
        assert interruption.exit_code == 0
        os.kill(os.getpid(), number)
        assert (interruption.number, interruption.exit_code, woken) == (number, code, [1])
        assert signal.getsignal(number) == before, "the next one is not listened to"
        with pytest.raises(Interrupted):
            interruption.blocking(lambda: pytest.fail("nothing that blocks is begun any more"))
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_what_blocks_is_broken_off() -> None:
    source, target = os.pipe()
    waiting = select.poll()
    waiting.register(source, select.POLLIN)
    with Interruption() as interruption:
        threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with pytest.raises(Interrupted):
            interruption.blocking(waiting.poll)
    os.close(source)
    os.close(target)


@pytest.mark.timeout(0)
def test_what_is_to_be_finished_is_finished_unless_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.console.interruption.PATIENCE_S", 0.01)
    before = signal.getsignal(signal.SIGALRM)
    source, target = os.pipe()
    with Interruption() as interruption:
        assert interruption.finishing(lambda: os.kill(os.getpid(), signal.SIGTERM)) is None
        assert interruption.number == signal.SIGTERM
    with Interruption() as interruption:

        def go_on_for_ever() -> None:
            os.kill(os.getpid(), signal.SIGINT)
            os.read(source, 1)

        with pytest.raises(Interrupted):
            interruption.finishing(go_on_for_ever)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == before
    os.close(source)
    os.close(target)


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGTERM)
            assert interruption.number is None
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_full_pipe_takes_what_fits_and_a_signal_ends_the_wait() -> None:
    source, target = os.pipe()
    text = bytes(range(256)) * 4_000
    with Interruption() as interruption:
        stream = OutputStream(target, interruption)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(Interrupted):
            stream.write(text)
    os.close(target)
    # What is here came before the signal: the writer ended with it.
    read = b"".join(iter(lambda: os.read(source, 65_536), b""))
    assert 0 < len(read) < len(text)
    assert text.startswith(read)
    os.close(source)


def test_a_reader_that_has_gone_is_noticed() -> None:
    source, target = os.pipe()
    with Interruption() as interruption:
        stream = OutputStream(target, interruption)
        stream.raise_if_nobody_reads()
        os.close(source)
        with pytest.raises(BrokenPipeError):
            stream.raise_if_nobody_reads()
    os.close(target)
