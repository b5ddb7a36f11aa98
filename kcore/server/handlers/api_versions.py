"""ApiVersions (key 18): what this broker serves (KIP-35, KIP-511).

v0-2 have no client software name; v3 adds it, flexible fields and features; v4 lets a feature's lowest version be 0.
The response header is never flexible, because the asking client does not know yet what the broker understands.
Features are those that the cluster can be finalized at (KIP-584, UpdateFeatures); their epoch grows with every change.
"""

from __future__ import annotations

from kcore import errors
from kcore.controller.features import worth_naming
from kcore.server import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_SOFTWARE_NAME = 3
# Clients that know no later version fail at a feature whose lowest level is 0 (KAFKA-17011).
FIRST_WITH_LEVEL_0 = 4
BETWEEN = str.maketrans("", "", "-.")


def handle(context: RequestContext, request: Any) -> Fields:
    """Every advertised key with its range."""
    if context.api_version >= FIRST_WITH_SOFTWARE_NAME:
        for text in (request.client_software_name, request.client_software_version):
            if not is_software_name(text):
                raise errors.InvalidRequestError(f"{text!r} is no name or version of a client's software")
    return {"error_code": errors.NONE, "api_keys": list(apis.advertised()), **features(context)}


def is_software_name(text: str) -> bool:
    """`[a-zA-Z0-9](?:[a-zA-Z0-9\\-.]*[a-zA-Z0-9])?` of KIP-511; without `re`, for which every start would pay."""
    return text.isascii() and text[:1].isalnum() and text[-1:].isalnum() and text.translate(BETWEEN).isalnum()


def features(context: RequestContext) -> dict[str, Any]:
    """What is supported, and what is finalized; versions that have no features leave all of it out."""
    image = context.broker.metadata_cache.image
    supported = worth_naming(context.broker.controller.supported_features)
    return {
        "supported_features": [
            {"name": name, "min_version": low, "max_version": high}
            for name, low, high in supported
            if low > 0 or context.api_version >= FIRST_WITH_LEVEL_0
        ],
        "finalized_features_epoch": image.features_epoch,
        "finalized_features": [
            {"name": name, "max_version_level": level, "min_version_level": level}
            for name, level in sorted(image.features.items())
        ],
    }


def unknown_version_response() -> Fields:
    """The answer, in v0, to a version that is not served: error 35 and the range of this very API."""
    own = [row for row in apis.advertised() if row["api_key"] == apis.API_VERSIONS]
    return {"error_code": errors.UnsupportedVersionError.code, "api_keys": own}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """The error alone."""
    return {"error_code": error.code, "api_keys": []}
