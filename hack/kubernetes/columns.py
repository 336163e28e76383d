"""Writes descriptions.json: what a kube-apiserver says of each column of its Tables.

    python hack/kubernetes/columns.py https://127.0.0.1:6443 TOKEN > hack/kubernetes/descriptions.json

`tables.json` has the columns themselves. What most resources say of a column is there once, under `*`.
"""

from __future__ import annotations

import json
import ssl
import sys
import urllib.request
from collections import Counter
from pathlib import Path

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def main() -> None:
    url, token = sys.argv[1:]
    context = ssl._create_unverified_context()  # a server of one's own, on loopback
    found: dict[str, dict[str, str]] = {}
    for resource in json.loads((Path(__file__).parent / "tables.json").read_bytes()):
        path = f"/apis/{resource}" if resource.count("/") == 2 else f"/api/{resource}"
        headers = {"authorization": f"Bearer {token}", "accept": TABLE}
        request = urllib.request.Request(f"{url}{path}?limit=1", headers=headers)
        with urllib.request.urlopen(request, context=context) as answer:
            columns = json.load(answer)["columnDefinitions"]
        found[resource] = {each["name"]: each["description"] for each in columns}
    common = {name: most_common(found, name) for name in ("Name", "Age")}
    for columns in found.values():
        for name in [name for name, text in columns.items() if text == common.get(name, "")]:
            del columns[name]
    found["*"] = common
    json.dump(found, sys.stdout, indent=1, sort_keys=True)
    print()


def most_common(found: dict[str, dict[str, str]], name: str) -> str:
    return Counter(columns[name] for columns in found.values() if name in columns).most_common(1)[0][0]


if __name__ == "__main__":
    main()
