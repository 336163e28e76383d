"""Hooks of mkdocs: pages that are not in docs/ (the API, the examples, the changelog), and links to them.

The API pages list what the packages export by their stubs; mkdocstrings fills them from signatures and docstrings.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("pilotage", "pilotage.testing", "pilotage.device")
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
    found: dict[str, list[tuple[str, str]]] = {}
    for package in PACKAGES:
        stub = ROOT / "src" / package.replace(".", "/") / "__init__.pyi"
        for module, name in EXPORT.findall(stub.read_text()):
            found.setdefault(_package(package, module), []).append((module, name))
    pages = {f"api/{package}.md": _page(package, names) for package, names in found.items()}
    listed = "\n".join(f"| [{package}]({package}.md) | {_names(names)} |" for package, names in sorted(found.items()))
    pages["api/index.md"] = (
        "# API\n\nWhat the packages export, from their signatures and docstrings. `import pilotage as pt` has all of"
        " it but `pilotage.device` and `pilotage.testing`.\n\n| package | names |\n|---|---|\n" + listed + "\n"
    )
    return pages


def slug(text: str, separator: str) -> str:
    """The anchor of a heading as code hosts make it, so that links work in both places."""
    return re.sub(r"[^\w -]", "", text.lower()).replace(" ", separator)


def _package(package: str, module: str) -> str:
    """The page of a module: that of its package below `pilotage`."""
    return package if package != "pilotage" else ".".join(module.split(".")[:2])


def _page(package: str, names: list[tuple[str, str]]) -> str:
    return f"# {package}\n\n" + "\n\n".join(f"::: {module}.{name}" for module, name in names) + "\n"


def _names(names: list[tuple[str, str]]) -> str:
    return ", ".join(f"`{name}`" for _, name in names)
