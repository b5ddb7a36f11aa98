"""UpdateFeatures (key 57): changes the finalized levels of features (KIP-584).

v0 allows a downgrade with a flag. v1 has the type of the change and a dry run (KIP-778). In both, each feature succeeds
or fails independently, as in Kafka 3.9. From v2 on all features succeed or none does, as in Kafka 4: the response has
one error for the whole request, and no results (KIP-1022).
"""

from __future__ import annotations

from kcore import errors
from kcore.controller.features import SAFE_DOWNGRADE, UPGRADE, FeatureUpdate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from kcore.controller.controller import Controller
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_UPGRADE_TYPE = 1
FIRST_ALL_OR_NONE = 2


def handle(context: RequestContext, request: Any) -> Fields:
    """Passes the updates to the controller. Of two updates of one feature, the last one applies."""
    updates = {update.feature: wish(context.api_version, update) for update in request.feature_updates}
    validate_only = context.api_version >= FIRST_WITH_UPGRADE_TYPE and request.validate_only
    controller = context.broker.controller
    if context.api_version >= FIRST_ALL_OR_NONE:
        return update_all(controller, updates.values(), validate_only)
    results = controller.update_features(updates.values(), validate_only)
    return {
        "error_code": errors.NONE,
        "error_message": "",
        "results": [describe(feature, error) for feature, error in sorted(results.items())],
    }


def update_all(controller: Controller, updates: Collection[FeatureUpdate], validate_only: bool) -> Fields:
    """The response of an all-or-none update. The error message of a success is null."""
    try:
        controller.update_all_features(updates, validate_only)
    except errors.InvalidUpdateVersionError as error:
        message = f"The update failed for all features since the following feature had an error: {error.detail}"
        return {"error_code": error.code, "error_message": message}
    return {"error_code": errors.NONE, "error_message": None}


def wish(version: int, update: Any) -> FeatureUpdate:
    """Converts one update for the controller."""
    if version >= FIRST_WITH_UPGRADE_TYPE:
        kind = update.upgrade_type
    else:
        kind = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    return FeatureUpdate(update.feature, update.max_version_level, kind)


def describe(feature: str, error: errors.KafkaError | None) -> Fields:
    """The response of one feature."""
    if error is None:
        return {"feature": feature, "error_code": errors.NONE, "error_message": None}
    return {"feature": feature, "error_code": error.code, "error_message": error.detail}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on the response and on every feature."""
    results = [describe(update.feature, error) for update in request.feature_updates]
    return {"error_code": error.code, "error_message": error.detail, "results": results}
