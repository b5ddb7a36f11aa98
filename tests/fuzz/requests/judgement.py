"""Which outcomes of one request are correct: an answer that decodes, a closed connection, silence, a wait."""

from __future__ import annotations

from kcore.errors import KafkaError
from kcore.protocol import apis
from kcore.protocol.headers import decode_response
from kcore.protocol.message import Message
from kcore.server.apis import API_VERSIONS
from tests.fuzz.requests.findings import Finding
from tests.fuzz.requests.restricted import decoded
from tests.fuzz.requests.source import Request

NO_ACKS = 0
# A fetch that waits no longer than this is awaited.
SHORT_WAIT_MS = 50
WAITING_APIS = frozenset({apis.JOIN_GROUP.key, apis.SYNC_GROUP.key})


def is_served(request: Request) -> bool:
    return request.version in request.served.get(request.api_key, ())


def is_well_formed(request: Request) -> bool:
    """Whether the broker must answer it, or be silent where that is the answer."""
    return is_served(request) and decoded(request.payload) is not None


def may_be_silent(request: Request) -> bool:
    """Produce with acks=0 has no answer; with an error the connection is closed instead."""
    if request.api_key != apis.PRODUCE.key:
        return False
    message = decoded(request.payload)
    return message is not None and message.acks == NO_ACKS


def may_wait(request: Request) -> bool:
    """Whether an answer may take as long as other members, new records or a timeout of the request take."""
    if request.api_key in WAITING_APIS:
        return True
    if request.api_key != apis.FETCH.key:
        return False
    message = decoded(request.payload)
    return message is not None and message.max_wait_ms > SHORT_WAIT_MS


def judge_answer(request: Request, frame: bytes) -> Message:
    """The answer, which takes all bytes of the frame; raises Finding."""
    key, version = request.api_key, request.version
    api = apis.BY_KEY.get(key)
    if api is None:
        raise Finding(f"an answer to the unknown API key {key}: {frame[:100].hex()}", [request])
    if key == API_VERSIONS and not is_served(request):
        version = 0
    try:
        _, message = decode_response(api, version, frame)
    except KafkaError as error:
        raise Finding(f"the answer does not decode: {error}; {frame[:400].hex()}", [request]) from error
    return message


def judge_close(request: Request) -> None:
    """The connection was closed at this request; raises Finding when it is well-formed."""
    if may_be_silent(request):
        return
    if is_well_formed(request):
        raise Finding("a well-formed request closed its connection", [request])
