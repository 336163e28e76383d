"""`--set PATH=VALUE` and `--unset PATH`: values at paths of an object, with the types that its schema gives them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from pilotage.kit.console.errors import CommandError, UsageError
from pilotage.meta.documents import Document

_STEP = re.compile(r"((?:[^.\[\]\\]|\\.)+)|\[(\d{1,9})\]")
_STRINGS: Document = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA: Document = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "generateName": {"type": "string"},
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "ownerReferences": {"type": "array", "items": {"type": "object"}},
    },
}


def with_settable_metadata(schema: Document | None) -> Document:
    """A schema of a whole object with the metadata that a client can set."""
    own = (schema or {}).get("properties") or {}
    return {**(schema or {}), "properties": {**own, "metadata": _METADATA}}


Step = str | int
Setting = tuple[tuple[Step, ...], Any]


def settings(texts: Iterable[str], schema: Document | None) -> list[Setting]:
    """The paths and typed values of `--set`. Raises CommandError."""
    return [_setting(text, schema) for text in texts]


def removals(texts: Iterable[str], schema: Document | None) -> list[Setting]:
    """The paths of `--unset`, each with None. Raises CommandError, also for a field that does not exist."""
    found = [path_of(text, "--unset") for text in texts]
    for steps in found:
        _schema_at(schema, steps, "--unset")
    return [(steps, None) for steps in found]


def path_of(text: str, flag: str = "--set") -> tuple[Step, ...]:
    """The steps of a path: `spec.items[0].name`; a dot in a key is written with a backslash. Raises CommandError."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        if text[at] == "." and text[at + 1 : at + 2] not in ("", ".", "["):
            at += 1
        match = _STEP.match(text, at)
        if match is None:
            raise UsageError(f"{flag} {text}: cannot read the path at {text[at:]!r}; write spec.items[0].name")
        steps.append(int(match[2]) if match[2] is not None else re.sub(r"\\(.)", r"\1", match[1]))
        at = match.end()
    if not steps or isinstance(steps[0], int):
        example = "spec.text=VALUE" if flag == "--set" else "spec.text"
        raise UsageError(f"{flag} {text}: the path is missing; write {flag} {example}")
    return tuple(steps)


def apply_settings(document: Document, found: Iterable[Setting]) -> None:
    """Set the values in a document; objects and lists that are missing on the way are made. Raises CommandError."""
    for steps, value in found:
        _put(document, steps, value)


def merge_patch(found: Iterable[Setting], removed: Iterable[Setting] = ()) -> Document:
    """The merge patch that sets the values and removes the paths `removed`. Raises CommandError."""
    patch: Document = {}
    for steps, value in (*found, *removed):
        if any(isinstance(step, int) for step in steps):
            raise CommandError(
                f"--set {_shown(steps)}: a patch cannot set one item of a list; set the whole list as JSON, or use "
                "--type=json -p"
            )
        _put(patch, steps, value)
    return patch


def _setting(text: str, schema: Document | None) -> Setting:
    path, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set {text}: write PATH=VALUE, as in --set spec.text=VALUE")
    steps = path_of(path)
    return steps, _typed(value, _schema_at(schema, steps), path)


def _put(document: Any, steps: tuple[Step, ...], value: Any) -> None:
    here = document
    for step, following in pairwise(steps):
        empty: Any = [] if isinstance(following, int) else {}
        here = _enter(here, step, empty, steps)
    _enter(here, steps[-1], value, steps, replace=True)


def _enter(here: Any, step: Step, empty: Any, steps: tuple[Step, ...], *, replace: bool = False) -> Any:
    if isinstance(step, int):
        if not isinstance(here, list) or step > len(here):
            raise CommandError(f"--set {_shown(steps)}: there is no item {step} to set; set the items before it first")
        if step == len(here):
            here.append(empty)
        elif replace or here[step] is None:
            here[step] = empty
        return here[step]
    if not isinstance(here, dict):
        raise CommandError(f"--set {_shown(steps)}: {step} is a field of something that has no fields")
    if replace or here.get(step) is None:
        here[step] = empty
    return here[step]


def _schema_at(schema: Document | None, steps: tuple[Step, ...], flag: str = "--set") -> Document | None:
    """The schema of a path; None where it is not known. Raises CommandError for a field that does not exist."""
    here: Document | None = schema
    for number, step in enumerate(steps):
        if number == 0 and step == "metadata":
            here = _METADATA
        elif here is None or here.get("x-kubernetes-preserve-unknown-fields"):
            return None
        elif isinstance(step, int):
            here = here.get("items") if isinstance(here.get("items"), dict) else None
        else:
            here = _property(here, steps, number, flag)
    return here


def _property(schema: Document, steps: tuple[Step, ...], number: int, flag: str) -> Document | None:
    step, properties = steps[number], schema.get("properties") or {}
    if step in properties:
        found = properties[step]
        return found if isinstance(found, dict) else None
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        return more
    if more or not properties:
        return None
    known = ", ".join(sorted(properties))
    unknown = _shown(steps[: number + 1])
    raise CommandError(f"{flag} {_shown(steps)}: unknown field {unknown!r}; its fields are {known}")


def _typed(text: str, schema: Document | None, path: str) -> Any:
    kinds = (schema or {}).get("type")
    if schema and schema.get("nullable") and text == "null":
        return None
    if schema and schema.get("x-kubernetes-int-or-string"):
        return int(text) if re.fullmatch(r"-?\d{1,18}", text) else text
    match kinds:
        case "string":
            return text
        case "boolean":
            if text not in ("true", "false"):
                raise CommandError(f"--set {path}={text}: must be true or false")
            return text == "true"
        case "integer" | "number":
            return _number(text, path, kinds)
    value = _parsed(text, path)
    if kinds == "object" and not isinstance(value, dict):
        raise CommandError(f'--set {path}={text}: must be an object, such as {{"key": "value"}}')
    if kinds == "array" and not isinstance(value, list):
        raise CommandError(f'--set {path}={text}: must be a list, such as ["a", "b"]')
    return value


def _number(text: str, path: str, kind: str) -> int | float:
    try:
        number = int(text) if kind == "integer" or re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError:
        number = math.nan
    if isinstance(number, float) and not math.isfinite(number):  # JSON has neither NaN nor infinity
        raise CommandError(f"--set {path}={text}: must be {'a whole number' if kind == 'integer' else 'a number'}")
    return number


def _parsed(text: str, path: str) -> Any:
    from pilotage.errors import DecodeError
    from pilotage.meta.text import yamltext

    try:
        return yamltext.read(text) if text else ""
    except DecodeError as error:
        raise CommandError(f"--set {path}={text}: {error}") from error


def _shown(steps: tuple[Step, ...]) -> str:
    texts = [f"[{step}]" if isinstance(step, int) else "." + step.replace(".", "\\.") for step in steps]
    return "".join(texts).removeprefix(".")
