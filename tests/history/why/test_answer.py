"""The answer about an object: which reconciles it has, and how large it may be."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from pilotage.errors import NoMatch
from pilotage.history.stories import LogLine
from pilotage.history.why.answer import Answer, Question, answer
from pilotage.history.why.bounds import MOST_BYTES, bounded
from pilotage.history.why.offline import answer_from, kind_of
from pilotage.history.why.provenance import Target
from pilotage.history.why.text import answer_lines
from tests.history.why.test_provenance import APP, CHAIN, NOW, TARGET, story

SET = Target(TARGET.kind._replace(kind="Set"), "default", "main")


def numbers(found: Answer) -> list[int]:
    return [each.number for each in found.reconciles]


def test_the_answer_has_the_last_reconciles_of_the_object() -> None:
    found = answer(Question(SET), CHAIN)
    assert (numbers(found), found.total, found.are_of_others) == ([2, 3], 2, False)
    found = answer(Question(SET, limit=1), CHAIN)
    assert (numbers(found), found.total) == ([3], 2)
    assert str(next(answer_lines(found))) == "(1 earlier reconcile: --limit 2 prints all)"
    assert numbers(answer(Question(SET, limit=0), CHAIN)) == []


def test_an_object_that_is_not_reconciled_has_the_reconciles_that_it_caused_or_that_wrote_it() -> None:
    found = answer(Question(TARGET), CHAIN)
    assert (numbers(found), found.are_of_others) == ([2, 3], True)
    first = str(next(answer_lines(found)))
    assert first == "Reconciles that Config default/main caused, or that wrote it:"


def test_an_object_without_reconciles_says_so() -> None:
    found = answer(Question(replace(SET, name="other")), CHAIN)
    assert [*map(str, answer_lines(found))] == ["No reconciles of Set default/other are recorded."]


def test_an_answer_is_read_back_as_it_was_sent() -> None:
    for question in (Question(SET), Question(TARGET, field="data.size")):
        found = answer(question, CHAIN, document={"data": {"size": "2"}})
        assert msgspec.json.decode(msgspec.json.encode(found), type=Answer) == found


def test_an_answer_is_bounded() -> None:
    line = LogLine(at=NOW, level="INFO", text="x" * 1000)
    large = [replace(story(number, APP, [], []), steps=(line,) * 501) for number in range(20)]
    found = bounded(large)
    assert [each.number for each in found] == [*range(20 - len(found), 20)]
    assert len(found) < 10
    assert {(len(each.steps), each.skipped) for each in found} == {(500, 1)}
    assert len(msgspec.json.encode(found)) < MOST_BYTES


def test_a_kind_is_found_by_the_words_of_the_stories() -> None:
    for word in ("App", "apps", "app.example.com"):
        assert kind_of(CHAIN, word).kind == "App"
    with pytest.raises(NoMatch, match='no recorded reconcile is about a type "foo"; they are about: App'):
        kind_of(CHAIN, "foo")
    with pytest.raises(NoMatch, match="no reconciles are recorded"):
        kind_of([], "app")


def test_stories_alone_answer() -> None:
    assert numbers(answer_from(CHAIN, "sets", "main")) == [2, 3]
    assert numbers(answer_from(CHAIN, "sets", "main", namespace="other")) == []
    clustered = [replace(each, namespace="") for each in CHAIN[:1]]
    assert numbers(answer_from(clustered, "app", "main")) == [1]
    assert answer_from(CHAIN, "config", "main", field="data.size").field is not None
