"""Hooks of mkdocs: pages that are not in docs/ (the API, the examples, the changelog), and links to them.

The API pages list what the packages export by their stubs; mkdocstrings fills them from signatures and docstrings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
APART = ("pilotage.testing", "pilotage.device")
"""Packages whose pages have all that they export, wherever it is defined."""
EXPORT = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the API pages in the navigation."""
    (reference,) = (section["Reference"] for section in config.nav or () if "Reference" in section)
    (entry,) = (each for each in reference if "API" in each)
    entry["API"] = ["api/index.md", *sorted(page for page in api_pages() if page != "api/index.md")]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    pages = api_pages() | {"changelog.md": (ROOT / "CHANGELOG.md").read_text()}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Links that lead out of docs/ in the repository lead to the same pages here."""
    name: str = page.file.src_uri
    if name.startswith("examples/") or name == "changelog.md":
        return re.sub(r"\]\(((?:\.\./)*)docs/", r"](\1", markdown)
    up = "../" * name.count("/")
    return markdown.replace(f"]({up}../examples/", f"]({up}examples/")


def api_pages() -> dict[str, str]:
    """A page for each package with what it exports, and a list of them."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    exported = exports("pilotage")
    homes = [f"{module}.{name}" for module, name in exported if module == "pilotage"]
    names = [("pilotage", each) for each in exported if each[0] != "pilotage"]
    names += [(package, each) for package in (*homes, *APART) for each in exports(package)]
    for package, (module, name) in names:
        found.setdefault(_package(package, module), {})[module, name] = None
    pages = {f"api/{package}.md": _page(package, names) for package, names in found.items()}
    listed = "\n".join(f"| [{package}]({package}.md) | {_names(names)} |" for package, names in sorted(found.items()))
    pages["api/index.md"] = (
        "# API\n\nWhat the packages export, from their signatures and docstrings. [Public names](../public-names.md)"
        " lists what `import pilotage as pt` has, and where the others are.\n\n| package | names |\n|---|---|\n"
        + listed
        + "\n"
    )
    return pages


def exports(package: str) -> list[tuple[str, str]]:
    """The modules and the names that a package exports: by its stub, or by its classes if it has none."""
    path = ROOT / "src" / package.replace(".", "/")
    if (stub := path / "__init__.pyi").exists():
        return EXPORT.findall(stub.read_text())
    if not (source := path / "__init__.py").exists():
        return []  # a module that exports what others define
    nodes = ast.parse(source.read_text()).body
    return [(package, node.name) for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def slug(text: str, separator: str) -> str:
    """The anchor of a heading as code hosts make it, so that links work in both places."""
    return re.sub(r"[^\w -]", "", text.lower()).replace(" ", separator)


def _package(package: str, module: str) -> str:
    """The page of a module: that of its package below `pilotage`."""
    return package if package in APART else ".".join(module.split(".")[:2])


def _page(package: str, names: Iterable[tuple[str, str]]) -> str:
    return f"# {package}\n\n" + "\n\n".join(f"::: {module}.{name}" for module, name in names) + "\n"


def _names(names: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"`{name}`" for _, name in names)
