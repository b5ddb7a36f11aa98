from kcore.network.request_metrics import RequestErrors
from kcore.server.request_context import Fields

def count_errors(errors: RequestErrors, api_key: int, fields: Fields) -> None: ...
