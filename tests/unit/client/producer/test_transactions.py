"""A transaction whose batches fail, before the background thread has heard of it."""

from __future__ import annotations

from typing import Any

import pytest

from kcore import errors
from kcore.client.config.client_config import ProducerConfig
from kcore.client.producer.transaction_manager import FATAL_ERROR, InvalidTransactionState
from kcore.client.producer.transactions import Transactions

MESSAGE_TOO_LARGE, PRODUCER_FENCED = 10, 90


class FailedSender:
    """The native side of a producer whose sender has given a batch up: the error is told once."""

    def __init__(self) -> None:
        self.error_code = 0

    def take_transaction_error(self) -> int:
        code, self.error_code = self.error_code, 0
        return code


@pytest.fixture
def sender() -> FailedSender:
    return FailedSender()


@pytest.fixture
def transactions(sender: FailedSender) -> Transactions:
    config = ProducerConfig({"bootstrap.servers": "127.0.0.1:1", "transactional.id": "one"})
    # Nothing is asked here.
    nobody: Any = None
    found = Transactions(sender, nobody, nobody, config)  # type: ignore[arg-type]
    found.manager.begin_initializing()
    found.manager.initialized(7, 0)
    found.begin()
    return found


def test_nothing_is_sent_once_a_record_has_failed(sender: FailedSender, transactions: Transactions) -> None:
    transactions.check_sending()
    sender.error_code = MESSAGE_TOO_LARGE
    for _ in range(2):
        with pytest.raises(errors.MessageTooLargeError):
            transactions.check_sending()
    with pytest.raises(errors.MessageTooLargeError):
        transactions.send_offsets({}, "group")


def test_a_fenced_producer_sends_nothing_more(sender: FailedSender, transactions: Transactions) -> None:
    sender.error_code = PRODUCER_FENCED
    with pytest.raises(errors.ProducerFencedError):
        transactions.check_sending()
    assert transactions.manager.state == FATAL_ERROR


def test_the_error_of_a_former_transaction_is_not_the_next_ones(
    sender: FailedSender, transactions: Transactions
) -> None:
    transactions.manager.begin_aborting()
    transactions.manager.ended()
    sender.error_code = MESSAGE_TOO_LARGE
    transactions.begin()
    transactions.check_sending()
    with pytest.raises(InvalidTransactionState):
        transactions.begin()
