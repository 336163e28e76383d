"""JSONPath templates: text, paths and ranges."""

from __future__ import annotations

import pytest

from pilotage.kit.console.errors import CommandError
from pilotage.kit.printers.template import Template

DOCUMENT = {
    "items": [
        {"name": "a", "size": 1, "ready": True, "tags": ["x", "y"], "labels": {"app.kubernetes.io/name": "one"}},
        {"name": "b", "size": 2.5, "ready": False, "tags": [], "labels": {}},
    ]
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("plain", "plain"),
        ("{.items[*].name}", "a b"),
        ("{.items[0].size}{'\\t'}{.items[1].size}\n", "1\t2.5\n"),
        ("{range .items[*]}{.name}={.ready};{end}", "a=true;b=false;"),
        ("{range .items[*]}{range .tags[*]}{@}{end}|{end}", "xy||"),
        ('{.items[?(@.name=="b")].size}', "2.5"),
        ("{.items[0]['name','size']}", "a 1"),
        ("{.items[0].labels.app\\.kubernetes\\.io/name}", "one"),
        ("{.items[0].tags} {.items[0].nothing}", '["x","y"] '),
        ("{range .items[*]}{$.items[0].name}{.name} {end}", "aa ab "),
        ("{'a{b'}{\"c}d\"}", "a{bc}d"),
    ],
)
def test_a_template_prints(template: str, expected: str) -> None:
    assert Template(template).text(DOCUMENT) == expected


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.items", "unclosed action"),
        ("{end}", "not in range, nothing to end"),
        ("{range .items[*]}{.name}", "unclosed range"),
        ("{.items[x]}", "'x' in brackets is not an index"),
    ],
)
def test_a_wrong_template_is_refused(template: str, problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        Template(template)
