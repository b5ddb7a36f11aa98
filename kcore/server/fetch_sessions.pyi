from kcore.server.fast_path.session_cache import FetchSessionCache

_Asked = tuple[bytes, int, int, int, int, int]
_Told = tuple[int, int, int, int, bool]

class HandlerSession:
    session_id: int

    def partitions(self) -> list[_Asked]: ...
    def tell(self, told: list[_Told]) -> list[bool]: ...

def take_up_session(
    sessions: FetchSessionCache,
    session_id: int,
    epoch: int,
    by_id: bool,
    asked: list[_Asked],
    forgotten: list[tuple[bytes, int]],
) -> HandlerSession | None: ...
def open_session(
    sessions: FetchSessionCache, by_id: bool, privileged: bool, asked: list[_Asked], told: list[_Told]
) -> int: ...
