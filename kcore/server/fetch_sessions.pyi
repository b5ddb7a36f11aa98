from kcore.server.fast_path.session_cache import FetchSessionCache

Asked = tuple[bytes, int, int, int, int, int]
Told = tuple[int, int, int, int, bool]

class HandlerSession:
    session_id: int

    def partitions(self) -> list[Asked]: ...
    def tell(self, told: list[Told]) -> list[bool]: ...

def take_up_session(
    sessions: FetchSessionCache,
    session_id: int,
    epoch: int,
    by_id: bool,
    asked: list[Asked],
    forgotten: list[tuple[bytes, int]],
) -> HandlerSession | None: ...
def open_session(
    sessions: FetchSessionCache, by_id: bool, privileged: bool, asked: list[Asked], told: list[Told]
) -> int: ...
