"""Random gets, lists and watches."""

from __future__ import annotations

from urllib.parse import quote

from .requests import PARTIAL, PARTIAL_LIST, TABLE, Requests

LABELS = ("a=1", "a!=1", "a in (1,2)", "!a", "b", "a=1,b=2", "a=", "a==2", "a notin (1)", "a>1", "=", "a in ()", "-=1")
FIELDS = ("metadata.name=one", "metadata.name!=one", "metadata.namespace=<namespace>", "status.phase=Pending", "type=x")
YAML = "application/yaml"
ODD_VERSIONS = ("0", "", "abc", "-1")


class Reads(Requests):
    """Requests that change nothing."""

    def _get(self) -> None:
        accept = self._chance.choice(["", TABLE, PARTIAL, PARTIAL_LIST, YAML])
        query = self._chance.choice(["", "", "", "includeObject=Object", "includeObject=Other", "resourceVersion=0"])
        if self._objects and self._likely(0.1):
            query = f"resourceVersion={self._version()}"
        self._step("get", "GET", self._object(self._short()), query=query, accept=accept)

    def _list(self) -> None:
        parts = self._selectors()
        if self._likely(0.4):
            parts += self._of_version(["Exact", "NotOlderThan", "NotOlderThan", "Other"])
        if self._likely(0.4):
            parts.append(f"limit={self._chance.choice(['1', '1', '1', '2', '0', '-1', 'x'])}")
        saved = f"list{len(self.made)}"
        accept = self._chance.choice(["", "", TABLE, PARTIAL_LIST])
        if accept == TABLE and self._likely(0.4):
            parts.append(f"includeObject={self._chance.choice(['None', 'Metadata', 'Object'])}")
        target = self._subject.collection
        self._step("list", "GET", target, query="&".join(parts), accept=accept, save=saved)
        self._lists.append(saved)
        if any(part.startswith("limit=") for part in parts) and self._likely(0.7):
            self._next_page(saved, [part for part in parts if not part.startswith("resourceVersion")], accept)

    def _next_page(self, page: str, parts: list[str], accept: str) -> None:
        token = f"continue=<{page}.metadata.continue>"
        if self._likely(0.1):
            token = "continue=none"
        if self._likely(0.1):
            token += self._chance.choice(["&resourceVersion=0", "&resourceVersionMatch=Exact"])
        self._step("page", "GET", self._subject.collection, query="&".join([*parts, token]), accept=accept)

    def _selectors(self) -> list[str]:
        parts = []
        if self._likely(0.4):
            parts.append(f"labelSelector={quote(self._chance.choice(LABELS))}")
        if self._likely(0.3):
            chosen = self._chance.choice([*FIELDS, *self._subject.fields, *self._subject.fields])
            parts.append(f"fieldSelector={quote(chosen, safe='<>')}")
        return parts

    def _of_version(self, matches: list[str]) -> list[str]:
        parts = []
        if self._likely(0.9):
            seen = bool(self._lists or self._objects) and self._likely(0.8)
            parts.append(f"resourceVersion={self._any_version() if seen else self._chance.choice(ODD_VERSIONS)}")
        if self._likely(0.7):
            parts.append(f"resourceVersionMatch={self._chance.choice(matches)}")
        return parts

    def _watch(self) -> None:
        """A watch that ends after a second; all that has happened arrives before."""
        parts = ["watch=true", "timeoutSeconds=1", *self._selectors()]
        initial = self._likely(0.25)
        if initial:
            parts += ["sendInitialEvents=true", *self._of_version(["NotOlderThan", "NotOlderThan", "Exact"])]
        elif self._lists or self._objects:
            parts.append(f"resourceVersion={self._any_version()}")
        if (initial and self._likely(0.9)) or self._likely(0.2):
            parts.append("allowWatchBookmarks=true")
        accept = self._chance.choice(["", "", "", TABLE, PARTIAL])
        self._step("watch", "GET", self._subject.collection, query="&".join(parts), accept=accept)
