from __future__ import annotations

import contextlib
import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import BadRequest
from pilotage.meta.selectors.language import Operator
from pilotage.meta.selectors.selectors import FieldRequirement, FieldSelector, Requirement, Selector
from pilotage.types.meta.v1 import LabelSelector, LabelSelectorRequirement

LABELS = {"app": "web", "tier": "front", "size": "10", "empty": ""}


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("  ", True),
        ("app", True),
        ("!app", False),
        ("! other", True),
        ("app=web", True),
        ("app == web", True),
        ("app!=web", False),
        ("other!=web", True),
        ("app in (web,api)", True),
        ("app in (api)", False),
        ("other in (a)", False),
        ("app notin (api,web)", False),
        ("other notin (a)", True),
        ("empty=", True),
        ("empty in ()", True),
        ("app in (,)", False),
        ("app in (web,)", True),
        ("size>9", True),
        ("size>10", False),
        ("size<11", True),
        ("app>1", False),
        ("other<1", False),
        ("app=web,tier=back", False),
        ("app=web,\ttier in (front),!x", True),
        ("in in (in)", False),
        ("notin", False),
    ],
)
def test_every_form_of_the_language_selects(text: str, selected: bool) -> None:
    selector = Selector.parse(text)
    assert selector.matches(LABELS) is selected
    assert all(requirement.matches(LABELS) for requirement in selector.requirements) is selected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("x in", "unable to parse requirement: found '' expected: '('"),
        ("x in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("x in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("x in (a,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        (
            "a>b",
            'unable to parse requirement: values[0]: Invalid value: "b": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("/a", 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'),
    ],
)
def test_errors_are_in_the_words_of_kubernetes_parser(text: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        Selector.parse(text)
    assert str(caught.value) == message


def test_a_selector_has_at_most_four_kilobytes() -> None:
    assert Selector.parse(("a=b," * 1024)[:-1])
    with pytest.raises(BadRequest, match="4096 characters"):
        Selector.parse("a=b," * 1025)
    with pytest.raises(BadRequest, match="4096 characters"):
        FieldSelector.parse("a=b," * 1025)


KEYS = st.sampled_from(["a", "b", "in", "notin", "example.com/x", "A_1"])
VALUES = st.sampled_from(["", "1", "in", "x_y", "Z.z"])
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from(["exists", "!"])),
    st.builds(Requirement, KEYS, st.sampled_from(["=", "==", "!="]), st.tuples(VALUES)),
    st.builds(Requirement, KEYS, st.sampled_from([">", "<"]), st.integers(0, 2**63 - 1).map(lambda n: (str(n),))),
    st.builds(Requirement, KEYS, st.sampled_from(["in", "notin"]), st.lists(VALUES, min_size=1).map(tuple)),
)
SELECTORS = st.lists(REQUIREMENTS, max_size=5).map(lambda found: Selector(tuple(found)))


@given(SELECTORS)
def test_parse_undoes_print(selector: Selector) -> None:
    assert Selector.parse(str(selector)) == selector


@given(SELECTORS, st.dictionaries(KEYS, VALUES))
def test_a_selector_selects_what_all_its_requirements_do(selector: Selector, labels: dict[str, str]) -> None:
    assert selector.matches(labels) == all(Selector((one,)).matches(labels) for one in selector.requirements)


@given(st.text(alphabet="ab/=!(),<> in", max_size=12))
def test_any_text_is_a_selector_or_a_bad_request(text: str) -> None:
    with contextlib.suppress(BadRequest):  # and nothing else
        selector = Selector.parse(text)
        assert Selector.parse(str(selector)) == selector


def test_the_order_of_requirements_and_values_makes_no_difference() -> None:
    assert Selector.parse("b in (y,x),a") == Selector.parse("a,b in (x,y,x)")
    assert str(Selector.parse("b in (y,x),a")) == "a,b in (x,y)"


def test_selectors_come_from_labels_and_from_what_objects_hold() -> None:
    assert Selector.from_labels({"b": "1", "a": "2"}) == Selector.parse("a=2,b=1")
    selector = Selector.from_label_selector(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["front", "back"]},
                {"key": "canary", "operator": "DoesNotExist"},
                {"key": "size", "operator": "Exists"},
                {"key": "x", "operator": "NotIn", "values": ["y"]},
            ],
        }
    )
    assert selector == Selector.parse("app=web,tier in (back,front),!canary,size,x notin (y)")
    assert not Selector.from_label_selector({})


@pytest.mark.parametrize(
    "selector",
    [
        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
        {"matchExpressions": ["a"]},
        {"matchExpressions": {}, "matchLabels": {"a": 1}},
        {"matchLabels": {"a": 1}},
        {"matchLabels": {"/": "x"}},
        {"matchlabels": {"a": "x"}},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": "x"}]},
    ],
)
def test_label_selectors_that_cannot_be_are_refused(selector: dict[str, object]) -> None:
    with pytest.raises(BadRequest):
        Selector.from_label_selector(selector)


def test_labels_are_strings() -> None:
    with pytest.raises(BadRequest, match="are strings, not int"):
        Selector.from_labels({"a": 5})  # type: ignore[dict-item]  # as a caller without types may write


def test_a_selector_knows_the_one_value_that_it_requires() -> None:
    assert Selector.parse("a=1,b in (x),c!=1,d in (x,y)").requires("a") == "1"
    assert Selector.parse("a=1,b in (x)").requires("b") == "x"
    assert Selector.parse("c!=1,d in (x,y)").requires("d") is None


@pytest.mark.parametrize("operator", ["=", ">", "in"])
def test_a_requirement_that_compares_has_a_value(operator: Operator) -> None:
    with pytest.raises(BadRequest):
        Requirement("a", operator)


def test_selectors_can_be_joined_copied_and_sent() -> None:
    both = Selector.parse("a=1") & Selector.parse("b")
    assert both == Selector.parse("a=1,b")
    assert copy.deepcopy(both) == both
    assert pickle.loads(pickle.dumps(both)).matches({"a": "1", "b": ""})


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("metadata.name=a", True),
        ("metadata.name==a,", True),
        (",,status.phase!=Running", True),
        ("metadata.name!=a", False),
        ("metadata.name=a,status.phase=Running", False),
        (r"spec.note=a\,b\=c\\d", True),
        ("absent=", True),
        ("=", True),
    ],
)
def test_field_selectors_select(text: str, selected: bool) -> None:
    fields = {"metadata.name": "a", "status.phase": "Pending", "spec.note": "a,b=c\\d"}
    assert FieldSelector.parse(text).matches(fields) is selected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_field_selectors_that_cannot_be_are_refused(text: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        FieldSelector.parse(text)
    assert str(caught.value) == message


FIELD_REQUIREMENTS = st.builds(
    FieldRequirement,
    st.sampled_from(["metadata.name", "status.phase"]),
    st.sampled_from(["=", "!="]),
    st.text(alphabet="ab\\,=!. ", max_size=6),
)


@given(st.lists(FIELD_REQUIREMENTS, max_size=4))
def test_parse_undoes_print_of_fields(requirements: list[FieldRequirement]) -> None:
    selector = FieldSelector(tuple(requirements))
    assert FieldSelector.parse(str(selector)) == selector


def test_a_field_selector_knows_the_value_that_it_requires() -> None:
    selector = FieldSelector.parse("metadata.name=a")
    assert selector.requires("metadata.name") == "a"
    assert selector.requires("x") is None
    assert selector


def test_a_typed_label_selector_is_one_as_well() -> None:
    expressions = [LabelSelectorRequirement(key="tier", operator="In", values=["a", "b"])]
    typed = LabelSelector(match_labels={"app": "web"}, match_expressions=expressions)
    assert Selector.from_label_selector(typed) == Selector.parse("app=web,tier in (a,b)")
    with pytest.raises(BadRequest, match=r"^a label selector is a LabelSelector or a mapping with matchLabels, not 3$"):
        Selector.from_label_selector(3)  # type: ignore[arg-type]
