"""Writes the descriptions of built-in kinds and of their fields, as a kube-apiserver serves them in OpenAPI.

    python hack/kubernetes/documentation.py https://127.0.0.1:6443 TOKEN

They are one compressed file: definition, then field, then text; a definition's own text has an empty name.
"""

from __future__ import annotations

import gzip
import json
import ssl
import sys
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "src/pilotage/server/openapi/data/descriptions.json.gz"


def main() -> None:
    url, token = sys.argv[1:]
    known = json.loads((ROOT / "hack/kubernetes/schemas.json").read_bytes())
    found: dict[str, dict[str, str]] = {}
    for place in asked(url, token, "/openapi/v3")["paths"].values():
        document = asked(url, token, place["serverRelativeURL"])
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            if name in known:
                found[name] = descriptions(schema)
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))


def asked(url: str, token: str, path: str) -> dict[str, Any]:
    context = ssl._create_unverified_context()  # a server of one's own, on loopback
    request = urllib.request.Request(url + path, headers={"authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=context) as answer:
        document: dict[str, Any] = json.load(answer)
    return document


def descriptions(schema: dict[str, Any]) -> dict[str, str]:
    fields = {"": schema} | schema.get("properties", {})
    return {name: field["description"] for name, field in fields.items() if "description" in field}


if __name__ == "__main__":
    main()
