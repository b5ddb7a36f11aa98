TIMES: tuple[str, ...]

class RequestMetrics: ...

class RequestErrors:
    def count(self, api_key: int, error: int, amount: int) -> None: ...

class ApiTotals:
    requests: int
    versions: dict[int, int]
    errors: dict[int, int]
    times: dict[str, tuple[list[int], int]]
    request_bytes: tuple[list[int], int]
    response_bytes: tuple[list[int], int]

def totals(metrics: list[RequestMetrics], errors: RequestErrors) -> dict[int, ApiTotals]: ...
