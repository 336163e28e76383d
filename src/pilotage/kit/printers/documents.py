"""Objects as YAML, JSON and names."""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pilotage.meta.documents import Document
    from pilotage.meta.kinds import GroupVersionKind
    from pilotage.server.stored.filereader import FileResource

UNNAMED = "<unknown>"
"""In place of a name that the server would generate."""
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def as_json(document: Any) -> str:
    """JSON as kubectl prints it: indented, keys sorted, characters of HTML escaped."""
    text = json.dumps(document, indent=4, sort_keys=True, ensure_ascii=False)
    text = re.sub(r"\[\s+\]", "[]", text)
    return escaped_html(text) + "\n"


def escaped_html(text: str) -> str:
    """JSON with escapes for the characters of HTML, as Go writes it."""
    return re.sub("[<>&\u2028\u2029]", lambda match: _HTML[match[0]], text)


def as_yaml(document: Any) -> str:
    """YAML as kubectl prints it: keys sorted."""
    from pilotage.meta.text import yamltext

    return yamltext.write_as_kubernetes(document).decode()


def list_of(items: list[Document]) -> Document:
    """Several objects as one document."""
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def without_managed_fields(document: Document) -> Document:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return document
    return {**document, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def kind_of(kind: GroupVersionKind | FileResource) -> str:
    """A kind in front of a name: `deployment.apps`, `pod`."""
    return _kind(kind.group, kind.kind)


def name_with_kind(document: Document) -> str:
    """The name of an object: `deployment.apps/web`."""
    group = (document.get("apiVersion") or "").rpartition("/")[0]
    return f"{_kind(group, document.get('kind') or '')}/{document['metadata'].get('name') or UNNAMED}"


def _kind(group: str, kind: str) -> str:
    return f"{kind.lower()}.{group}" if group else kind.lower()
