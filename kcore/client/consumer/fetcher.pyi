from typing import final

from kcore.client.consumer.fetch_event import FetchEvent
from kcore.client.consumer.fetch_settings import FetchSettings
from kcore.client.consumer.record_reader import RecordReader
from kcore.client.network.network_client import NetworkClient

@final
class Fetcher(RecordReader):
    settings: FetchSettings
    def __init__(self, network: NetworkClient, settings: FetchSettings | None = None) -> None: ...
    def start(self) -> None: ...
    def take_events(self) -> list[FetchEvent]: ...
    @property
    def requests_in_flight(self) -> int: ...
