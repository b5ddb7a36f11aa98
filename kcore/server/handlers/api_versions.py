"""ApiVersions (key 18): the APIs and versions that this broker serves (KIP-35, KIP-511).

v3 adds the client software name, flexible fields and features; v4 allows 0 as the lowest level of a feature. The
response header is never flexible, because the client does not know the broker's versions yet. Supported features are
those that the cluster can finalize (KIP-584, UpdateFeatures). Their epoch grows with every change.
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
# Clients of earlier versions fail on a feature whose lowest level is 0 (KAFKA-17011).
FIRST_WITH_LEVEL_0 = 4
BETWEEN = str.maketrans("", "", "-.")


def handle(context: RequestContext, request: Any) -> Fields:
    """Every advertised API key with its version range."""
    if context.api_version >= FIRST_WITH_SOFTWARE_NAME:
        for text in (request.client_software_name, request.client_software_version):
            if not is_software_name(text):
                raise errors.InvalidRequestError(f"{text!r} is no name or version of a client's software")
    return {"error_code": errors.NONE, "api_keys": list(apis.advertised()), **features(context)}


def is_software_name(text: str) -> bool:
    """`[a-zA-Z0-9](?:[a-zA-Z0-9\\-.]*[a-zA-Z0-9])?` of KIP-511. Does not import `re`, to keep the start fast."""
    return text.isascii() and text[:1].isalnum() and text[-1:].isalnum() and text.translate(BETWEEN).isalnum()


def features(context: RequestContext) -> dict[str, Any]:
    """Supported and finalized features. Versions without features omit these fields when encoded."""
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
    """The v0 response to a version that is not served: error 35 and the version range of ApiVersions only."""
    own = [row for row in apis.advertised() if row["api_key"] == apis.API_VERSIONS]
    return {"error_code": errors.UnsupportedVersionError.code, "api_keys": own}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code, "api_keys": []}
