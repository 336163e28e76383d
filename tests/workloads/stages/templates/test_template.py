"""Templates: what they give, compared with what Go's text/template and sprig gave, and what they refuse."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.workloads.stages.moment import Addresses, Moment
from pilotage.workloads.stages.templates.problems import RenderError, TemplateProblem
from pilotage.workloads.stages.templates.template import FUNCTIONS, Template

RECORDED = json.loads((Path(__file__).parent / "texttemplate.json").read_text())
"""Templates over one document, with the answers of Go 1.26, sprig 3.3.0 and sigs.k8s.io/yaml 1.6.0. `fails`: always (it
cannot be parsed), or here (for this document)."""
DOCUMENT = RECORDED["document"]
MOMENT = Moment(
    now=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    start_time=datetime(2026, 1, 1, tzinfo=UTC),
    addresses=Addresses(node_port=10250, pod_ip="10.1.0.1"),
    functions={"PodIPsWith": lambda *_: ["10.1.0.1", "fd00::1"]},
)
CALLABLE = MOMENT.for_templates()


def rendered(text: str, document: Any = DOCUMENT) -> str:
    return Template(text, CALLABLE).render(document, CALLABLE)


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["template"][:60])
def test_a_template_gives_what_go_gives(case: dict[str, Any]) -> None:
    if case.get("fails") == "always":
        with pytest.raises(TemplateProblem):
            Template(case["template"], CALLABLE)
        return
    template = Template(case["template"], CALLABLE)
    if case.get("fails") == "here":
        with pytest.raises(RenderError):
            template.render(DOCUMENT, CALLABLE)
        return
    assert template.render(DOCUMENT, CALLABLE) == case["text"]
    if "document" in case:
        assert template.document(DOCUMENT, CALLABLE) == case["document"]
    else:
        with pytest.raises(RenderError, match="not YAML"):
            template.document(DOCUMENT, CALLABLE)


def test_each_function_is_in_a_recorded_template() -> None:
    words = {word for case in RECORDED["cases"] for word in re.findall(r"\w+", case["template"])}
    assert set(FUNCTIONS) - words - {"NodeConditions"} == set()


def test_the_conditions_of_a_node_have_all_types() -> None:
    text = "{{ range NodeConditions }}{{ .type }}={{ .status }} {{ end }}"
    assert rendered(text) == (
        "Ready=True MemoryPressure=False DiskPressure=False PIDPressure=False NetworkUnavailable=False "
    )


def test_functions_of_the_moment_give_its_times_and_addresses() -> None:
    text = "{{ Now }} {{ StartTime }} {{ Version }} {{ NodeIP }} {{ NodePort }} {{ PodIP }} {{ NodeIPWith `n` }}"
    assert rendered(text) == "2026-01-02T03:04:05Z 2026-01-01T00:00:00Z v0.8.0 10.0.0.1 10250 10.1.0.1 10.0.0.1"


def test_a_time_has_a_fraction_without_trailing_zeros() -> None:
    functions = Moment(now=datetime(2026, 1, 2, 3, 4, 5, 120_000, tzinfo=UTC)).for_templates()
    assert Template("{{ Now }}", functions).render({}, functions) == "2026-01-02T03:04:05.12Z"


def test_a_template_does_not_change_the_document() -> None:
    document = {"a": [1, 2], "m": {"x": 1}}
    rendered("{{ $x := .a }}{{ $x = list .a 3 }}{{ first .a }}{{ dict `y` .m }}{{ YAML .m }}", document)
    assert document == {"a": [1, 2], "m": {"x": 1}}


PROBLEMS = {
    "a: 1\nb: {{ nope .x }}": 'the function "nope" is not supported (2)',
    "{{ now }}": 'the function "now" is not supported (1)',
    "{{ env `HOME` }}": 'the function "env" is not supported (1)',
    "{{ set .a `b` 1 }}": 'the function "set" is not supported (1)',
    "{{ randAlphaNum 5 }}": 'the function "randAlphaNum" is not supported (1)',
    "x\n\n{{ if .a }}": "{{if .a}} has no {{end}} (3)",
    "{{ end }}": "unexpected {{end}} (1)",
    "{{ $x }}": 'undefined variable "$x" (1)',
    "{{ .a": "unclosed action (1)",
    "{{/* a": "unclosed comment (1)",
    "{{ break }}": "{{break}} outside {{range}} (1)",
    "{{ 1 | 2 }}": "non executable command in pipeline stage 2 (1)",
    "{{ if }}x{{ end }}": "missing value for if (1)",
    "{{ (.x }}": "unexpected the end of the action in parenthesized pipeline (1)",
    "{{ 'a' }}": """unexpected "'" in an action (1)""",
    r'{{ "\q" }}': r'invalid string "\q" (1)',
    "{{ 99999999999999999999 }}": "99999999999999999999 overflows int (1)",
    "{{ & }}": "unexpected '&' in an action (1)",
}


@pytest.mark.parametrize(("text", "message"), PROBLEMS.items(), ids=lambda text: text[:30])
def test_a_problem_of_a_template_has_its_line(text: str, message: str) -> None:
    with pytest.raises(TemplateProblem) as raised:
        Template(text, CALLABLE)
    assert f"{raised.value} ({raised.value.line})" == message


FAILURES = {
    "a\n{{ index .list 5 }}": "index out of range: 5 in {{index .list 5}} (2)",
    "{{ .text.x }}": "can't evaluate field x in type string in {{.text.x}} (1)",
    "{{ range .text }}{{ end }}": "range can't iterate over s in {{range .text}} (1)",
    "{{ eq .number 3 }}": "incompatible types for comparison: json.Number and int in {{eq .number 3}} (1)",
    "{{ upper 1 }}": "wrong arguments for upper: int in {{upper 1}} (1)",
    "{{ Now `a` 1 }}": "wrong arguments for Now: string, int in {{Now `a` 1}} (1)",
    "{{ .text 1 }}": "can't give argument to non-function in {{.text 1}} (1)",
    "{{ template `t` }}": 'template "t" not defined in {{template `t`}} (1)',
    "{{ printf `%[1]d` 1 }}": "printf does not support '%[1]d' with 1 arguments in {{printf `%[1]d` 1}} (1)",
    "{{ if true }}\n{{ first 1 }}{{ end }}": "expected a list; got int in {{first 1}} (2)",
    "{{ printf `%d` `a` }}": "printf does not support %d of string in {{printf `%d` `a`}} (1)",
    "{{ printf `%s` }}": "printf does not support '%s' with 0 arguments in {{printf `%s`}} (1)",
}


@pytest.mark.parametrize(("text", "message"), FAILURES.items(), ids=lambda text: text[:30])
def test_a_failure_has_its_line_and_its_action(text: str, message: str) -> None:
    with pytest.raises(RenderError) as raised:
        rendered(text, {"list": [1], "text": "s", "null": None, "number": 3})
    assert f"{raised.value} ({raised.value.line})" == message


def test_a_template_that_calls_itself_fails() -> None:
    with pytest.raises(RenderError, match="nested too deeply"):
        rendered("{{ define `t` }}{{ template `t` }}{{ end }}{{ template `t` }}")


WORDS = """{{ }} {{- -}} .a . $ $x := = | ( ) , if else end range with define template block break continue "s" `r`
'c' 1 1.5 nil true eq index printf "%d" len and or YAML Quote /* */ list dict add text"""
PIECES = st.sampled_from([*WORDS.split(), " ", "\n"])


@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=30).map(" ".join), st.lists(PIECES).map("".join)))
def test_any_text_is_a_template_or_a_problem(text: str) -> None:
    with suppress(TemplateProblem, RenderError):
        rendered(text, {"a": {"b": [1, "x", None, True, {"c": 2.5}]}})
