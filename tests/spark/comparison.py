"""Plays a case with a source before a broker, and says where two runs of it differ."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from tests.spark.contents import Topic
from tests.spark.scene import Scene
from tests.spark.steps import CONNECTOR, OURS, Compacted, Found, Read, Stage, Step, Stream

# What is different by nature: errors are told in words of one's own.
NOT_COMPARED = ("text of the error",)


class Case(NamedTuple):
    """`topics` are there when it begins; `options` are of every step that reads, unless it says otherwise."""

    name: str
    topics: tuple[Topic, ...]
    options: Mapping[str, str]
    steps: tuple[Step, ...] = (Read(),)
    # Compacted or transactional: until ours can be, before Apache Kafka alone.
    needs_kafka: bool = False
    # Where ours is better than Spark's connector on purpose: what it finds in which step, in the place of the other's.
    ours: Mapping[int, Found] = {}


def changes_nothing(case: Case) -> bool:
    """Whether several runs can have the same topics."""
    return all(
        isinstance(step, Read | Compacted) or (isinstance(step, Stream) and not step.meanwhile) for step in case.steps
    )


def play(case: Case, session: SparkSession, source: str, scene: Scene) -> list[Found]:
    """What its steps have found, in order."""
    with tempfile.TemporaryDirectory(prefix="kcli-spark-case-") as directory:
        stage = Stage(session, source, scene, case.options, Path(directory))
        played = [step.play(stage) for step in case.steps]
    return [found for found in played if found is not None]


def expected_of_ours(case: Case, of_connector: list[Found]) -> list[Found]:
    """An error stands in the place of everything."""
    expected = []
    for number, found in enumerate(of_connector):
        own = case.ours.get(number, {})
        expected.append(own if "error" in own else {**found, **own})
    return expected


def differences(one: list[Found], other: list[Found]) -> list[str]:
    """In words, with what either has found; empty when they are equal."""
    told = []
    for number, (mine, yours) in enumerate(zip(one, other, strict=True)):
        for name in sorted((mine.keys() | yours.keys()) - set(NOT_COMPARED)):
            if mine.get(name) != yours.get(name):
                told.append(f"step {number}, {name}: {_difference(mine.get(name), yours.get(name))}")
                told += [
                    f"    ({found.get('text of the error', '')[-1500:]})" for found in (mine, yours) if "error" in found
                ]
    return told


def _difference(mine: Any, yours: Any) -> str:
    """Of lists only what the other has not."""
    if isinstance(mine, list) and isinstance(yours, list):
        only_mine = [one for one in mine if one not in yours]
        only_yours = [one for one in yours if one not in mine]
        return f"{len(mine)} against {len(yours)}; only {_short(only_mine)} against only {_short(only_yours)}"
    return f"{_short(mine)} against {_short(yours)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 1200 else f"{text[:1200]}..."


def compare(case: Case, session: SparkSession, servers: str) -> list[str]:
    """Where the case differs between the sources; empty when it does not."""
    found = played_by_both(case, session, servers)
    return differences(found[OURS], expected_of_ours(case, found[CONNECTOR]))


def played_by_both(case: Case, session: SparkSession, servers: str) -> dict[str, list[Found]]:
    """By source. They share topics that no step changes: then offsets are the same even where chance has a part."""
    found = {}
    with contextlib.ExitStack() as open_scenes:
        shared = open_scenes.enter_context(Scene(servers, case.topics)) if changes_nothing(case) else None
        for source in (CONNECTOR, OURS):
            scene = shared or open_scenes.enter_context(Scene(servers, case.topics))
            found[source] = play(case, session, source, scene)
    return found
