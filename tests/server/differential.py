"""Requests as data, replayed against a real kube-apiserver and against ours; the answers must be the same.

A scenario is a list of steps in a namespace of its own. `<namespace>` and `<group>` in targets and bodies are
its own, and later steps use what earlier ones were answered: a step that saves its answer as `one` lets
`<one.metadata.uid>` be written. Answers are compared after what
differs from run to run has got a name: `<uid of "a widget">` is the one that was seen first in the answer to that step.

Where ours is different on purpose, `differences.json` has the paths and the reasons.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pilotage.meta.text import yamltext

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
YAML = "application/yaml"
NAMESPACES = "/api/v1/namespaces"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

ABSENT = object()
"""A value that is not there."""


@dataclass(frozen=True)
class Saved:
    """A body: an answer that was saved, changed at some paths (dots between the keys)."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One request."""

    what: str
    method: str
    target: str
    body: object = None
    """Text and bytes are sent unchanged, anything else as JSON."""
    content_type: str = ""
    accept: str = ""
    save: str = ""
    until: Mapping[str, Any] | None = None
    """Asked again until the answer has these values, and not recorded."""


@dataclass(frozen=True)
class Difference:
    """What is different on purpose in our answer to a step."""

    reason: str
    """The first cell of a row in `docs/differences.md`."""
    ours: Mapping[str, Any]
    """From paths in the answer to what is there in ours; `<absent>` for nothing."""


@dataclass(frozen=True)
class Scenario:
    """Steps that belong together, with the definitions they need."""

    name: str
    steps: Sequence[Step]
    definitions: Sequence[Mapping[str, Any]] = ()
    managed_fields: bool = False
    """Whether managed fields are compared too."""
    lenient: bool = False
    """Whether what an answer does not have, as a token after the last page, is sent as an empty text."""

    @property
    def namespace(self) -> str:
        return f"case-{self.name}"

    @property
    def group(self) -> str:
        """Each has its own group for its kinds, so that they do not collide."""
        return f"{self.name}.example.com"

    def all_steps(self) -> list[Step]:
        """With what has to be there first."""
        steps = [Step("namespace", "POST", NAMESPACES, {"metadata": {"name": self.namespace}}, until={"status": 201})]
        for definition in self.definitions:
            steps += installed(definition)
        return [*steps, *self.steps]


def get(what: str, target: str, **more: Any) -> Step:
    return Step(what, "GET", target, **more)


def post(what: str, target: str, body: object, **more: Any) -> Step:
    return Step(what, "POST", target, body, **more)


def put(what: str, target: str, body: object, **more: Any) -> Step:
    return Step(what, "PUT", target, body, **more)


def patch(what: str, target: str, body: object, content_type: str = MERGE, **more: Any) -> Step:
    return Step(what, "PATCH", target, body, content_type, **more)


def delete(what: str, target: str, body: object = None, **more: Any) -> Step:
    return Step(what, "DELETE", target, body, **more)


def installed(definition: Mapping[str, Any]) -> list[Step]:
    """Create a definition and wait until its versions are served, and in discovery."""
    spec = definition["spec"]
    steps = [Step("definition", "POST", DEFINITIONS, definition, until={"status": 201})]
    for path in (f"/apis/{spec['group']}/{each['name']}" for each in spec["versions"] if each["served"]):
        steps.append(Step("served", "GET", f"{path}/{spec['names']['plural']}", until={"status": 200}))
        steps.append(Step("in discovery", "GET", path, until={"status": 200}))
    return steps


def at(document: Any, path: str) -> Any:
    """The value at a path with dots, or ABSENT."""
    for key in path.split("."):
        if isinstance(document, list) and key.isdigit() and int(key) < len(document):
            document = document[int(key)]
        elif isinstance(document, dict) and key in document:
            document = document[key]
        else:
            return ABSENT
    return document


def put_at(document: Any, path: str, value: Any) -> None:
    """Set (or, with ABSENT, remove) the value at a path; objects on the way are made."""
    *parents, last = path.split(".")
    for key in parents:
        document = document[int(key)] if isinstance(document, list) else document.setdefault(key, {})
    if isinstance(document, list):
        document[int(last)] = value
    elif value is ABSENT:
        document.pop(last, None)
    else:
        document[last] = value


class Replay:
    """A run of one scenario: makes the wire form of each step, and the comparable form of its answer."""

    def __init__(self, scenario: Scenario) -> None:
        self._saved: dict[str, Any] = {"namespace": scenario.namespace, "group": scenario.group}
        self._names: dict[str, str] = {}
        self._prefixes: set[str] = set()
        self._managed_fields = scenario.managed_fields
        self._lenient = scenario.lenient
        self._step = ""

    def target(self, step: Step) -> str:
        return self._filled(step.target)

    def headers(self, step: Step) -> dict[str, str]:
        headers = {"accept": step.accept} if step.accept else {}
        if step.body is not None:
            headers["content-type"] = step.content_type or "application/json"
        return headers

    def body(self, step: Step) -> bytes:
        document = step.body
        if document is None:
            return b""
        if isinstance(document, bytes):
            return document
        if isinstance(document, Saved):
            changes = document.changes
            document = copy.deepcopy(self._saved[document.name])
            for path, value in changes.items():
                put_at(document, path, value)
        prefix = at(document, "metadata.generateName")
        if isinstance(prefix, str):
            self._prefixes.add(prefix[:58])
        text = document if isinstance(document, str) else json.dumps(document)
        return self._filled(text).encode()

    def answer(self, step: Step, status: int, headers: Sequence[tuple[str, str]], body: bytes) -> dict[str, Any]:
        """The comparable form of an answer, which is also saved if the step wants it."""
        lowered = [(name.lower(), value) for name, value in headers]
        media = next((value for name, value in lowered if name == "content-type"), "").partition(";")[0]
        document = _decoded(body, media, "watch=" in step.target)
        if self._lenient and media == YAML:
            document = yamltext.read(body)
        if step.save:
            self._saved[step.save] = copy.deepcopy(document)
        answer: dict[str, Any] = {"what": step.what, "status": status, "type": media, "body": document}
        if step.until is None:
            self._step = step.what
            answer["body"] = self._comparable(_ordered(document))
            warnings = [self._text(value) for name, value in lowered if name == "warning"]
            answer |= {"warnings": sorted(warnings)} if warnings else {}
        return answer

    def _filled(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            found = at(self._saved, match[1])
            if found is ABSENT and self._lenient:
                return ""
            assert found is not ABSENT, f"nothing is saved as {match[1]}"
            return str(found)

        return re.sub(r"<([a-z]\w*(?:\.[\w-]+)*)>", value, text)

    def _comparable(self, value: Any, key: str = "", *, version: str = "") -> Any:
        if isinstance(value, dict):
            kind = str(value.get("kind", ""))
            listing = kind.endswith("List") or kind == "Table" or _is_bookmark(value)
            # A list's version is the store's, which others move too: it has no identity.
            named = {
                name: self._comparable(item, name, version="<list version>" if listing else version)
                for name, item in value.items()
                if self._managed_fields or name != "managedFields"
            }
            if "managedFields" in named:  # entries of the same second are in the order of their managers
                named["managedFields"] = sorted(named["managedFields"], key=_sorted_text)
            return _plain_list(named) if listing else _plain(named)
        if isinstance(value, list):
            return [self._comparable(item, key) for item in value]
        if not isinstance(value, str):
            return value
        if key == "resourceVersion":
            return version or self._name("version", value)
        if key == "continue":
            return "<token>" if value else ""
        return self._text(value)

    def _text(self, text: str) -> str:
        text = re.sub(r"127\.0\.0\.1:\d+", "<address>", text)
        text = re.sub(r"'\{[^']*managedFields[^']*\}'", "'<the whole object>'", text)
        text = re.sub(r'"\{(\\.|[^"\\])*\}"', '"<the whole object>"', text)
        for prefix in self._prefixes:
            text = re.sub(f"({re.escape(prefix)})[bcdfghjklmnpqrstvwxz2-9]{{5}}", r"\1<suffix>", text)
        text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", self._uid, text)
        text = re.sub(r"\b20(?!0|1|2[0-4])\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", _time, text)
        text = re.sub(r"(current: |too old resource version: \d+ )\(?\d+\)?", r"\1<current>", text)
        places = r"(ResourceVersion in (?:record |the precondition |precondition: |object meta: ))"
        return re.sub(rf"{places}(\(?)(\d+)", self._version_in_text, text)

    def _version_in_text(self, match: re.Match[str]) -> str:
        # A precondition that no answer has had is a number of the test's own.
        known = match[3] in self._names or "precondition" not in match[1]
        return match[1] + match[2] + (self._name("version", match[3]) if known else match[3])

    def _uid(self, match: re.Match[str]) -> str:
        return match[0] if len(set(match[0])) <= 2 else self._name("uid", match[0])

    def _name(self, kind: str, value: str) -> str:
        if value not in self._names:
            name = f'<{kind} of "{self._step}">'
            known = set(self._names.values())
            more = (f'<{kind} {number} of "{self._step}">' for number in range(2, 1000))
            self._names[value] = name if name not in known else next(each for each in more if each not in known)
        return self._names[value]


def _ordered(document: Any) -> Any:
    """A Status with its causes in an order of our own and each once: the real server's order is random."""
    causes = at(document, "details.causes")
    if causes is ABSENT or len(causes) < 2:
        return document
    causes[:] = [cause for index, cause in enumerate(causes) if cause not in causes[:index]]
    found = ", ".join(f"{cause.get('field', '')}: {cause['message']}" for cause in causes)
    causes.sort(key=lambda cause: (cause.get("field", ""), cause["message"]))
    ordered = ", ".join(f"{cause.get('field', '')}: {cause['message']}" for cause in causes)
    return document | {"message": document["message"].replace(found, ordered)}


def _sorted_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _time(match: re.Match[str]) -> str:
    return "<microtime>" if match[1] else "<time>"


def _plain_list(value: dict[str, Any]) -> dict[str, Any]:
    """A list without what kinds of it have in different ways: an empty token, null for no items, the items' kind."""
    if "metadata" in value and value["metadata"].get("continue") == "":
        del value["metadata"]["continue"]
    if "items" in value:
        kind = {"kind": value["kind"].removesuffix("List"), "apiVersion": value["apiVersion"]}
        value["items"] = [kind | item for item in value["items"] or []]
    return value


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """An Event or a Lease without its empty fields, which Go writes out."""
    if value.get("kind") in ("Event", "Lease") or value.keys() & {"involvedObject", "regarding"}:
        return {name: item for name, item in value.items() if item not in (None, "", {})}
    return value


def _is_bookmark(value: dict[str, Any]) -> bool:
    if value.get("type") == "BOOKMARK" and "object" in value:
        return True
    return value.keys() == {"kind", "apiVersion", "metadata"} and "name" not in value["metadata"]


def _repeats(before: dict[str, Any], line: dict[str, Any]) -> bool:
    """Whether a bookmark follows a bookmark: that depends on how long the request took."""
    return before.get("type") == line.get("type") == "BOOKMARK"


def _decoded(body: bytes, media: str, watch: bool) -> Any:
    text = body.decode("utf-8", "replace")
    if media != "application/json":
        return text
    if watch:
        try:
            lines = [json.loads(line) for line in text.splitlines()]
        except json.JSONDecodeError:  # an error, printed over several lines
            lines = [json.loads(text)]
        if not lines or "type" in lines[0]:
            return [line for before, line in zip([{}, *lines], lines, strict=False) if not _repeats(before, line)]
    return json.loads(text) if text else ""


def expected_of_ours(difference: Difference | None, real: Mapping[str, Any]) -> dict[str, Any]:
    """The answer that ours must give: the real one, but for what is different on purpose."""
    expected: dict[str, Any] = copy.deepcopy(dict(real))
    for path, value in difference.ours.items() if difference else ():
        put_at(expected, path, ABSENT if value == "<absent>" else value)
    return expected


def differing(expected: Any, found: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The places where two documents differ, with both values; `<absent>` for nothing."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            yield from differing(expected.get(key, "<absent>"), found.get(key, "<absent>"), f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from differing(one, other, f"{where}[{index}]")
    elif expected != found or isinstance(expected, bool) != isinstance(found, bool):
        yield where, expected, found
