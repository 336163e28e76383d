"""Only one package imports the libraries of HTTP/2."""

from __future__ import annotations

import ast
from pathlib import Path

import pilotage.grpc

LIBRARIES = {"grpclib", "grpc", "h2", "hpack", "hyperframe"}
HERE = Path(pilotage.grpc.__file__).parent


def test_nothing_outside_this_package_imports_a_library_of_http2() -> None:
    source = HERE.parent
    outside = [path for path in source.rglob("*.py") if not path.is_relative_to(HERE)]
    assert len(outside) > 100
    assert {str(path.relative_to(source)): found for path in outside if (found := _imported(path) & LIBRARIES)} == {}


def test_this_package_imports_hpack_and_no_other() -> None:
    assert set().union(*map(_imported, HERE.rglob("*.py"))) & LIBRARIES == {"hpack"}


def _imported(path: Path) -> set[str]:
    found = set[str]()
    text = path.read_text()
    if not any(library in text for library in LIBRARIES):  # most files: to parse all takes a second
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found
