"""Check the Python blocks of README.md and docs/ with mypy --strict, all in one run.

Each block becomes a module whose lines stand where they stand in the page, so that an error names the page's line.
The cache is that of `mypy` itself, which `make check` runs before.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pages(root: Path) -> list[Path]:
    """The pages whose blocks are checked."""
    return [
        *sorted(root.glob("*.md")),
        *sorted((root / "docs").rglob("*.md")),
        *sorted((root / "examples").glob("*.md")),
    ]


def modules(page: Path) -> dict[str, str]:
    """The blocks of a page as modules by name, padded with empty lines so that line numbers match the page."""
    text = page.read_text()
    found = {}
    for match in BLOCK.finditer(text):
        line = text[: match.start(1)].count("\n")
        found[f"block_{page.parent.name}_{page.stem}_{line + 1}".replace("-", "_")] = "\n" * line + match.group(1)
    return found


def check(root: Path, given: list[Path], folder: Path) -> tuple[int, str]:
    """mypy's exit status and output, with the names of the pages instead of the modules."""
    names = {}
    for page in given:
        for name, code in modules(page).items():
            (folder / f"{name}.py").write_text(code)
            names[name] = str(page.relative_to(root) if page.is_relative_to(root) else page)
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"), "--strict"]
    command += [str(folder / f"{name}.py") for name in names]
    environment = os.environ | {"MYPYPATH": str(folder)}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    output = re.sub(r"^\S*?(block_\w+)\.py:", lambda found: f"{names[found[1]]}:", ran.stdout, flags=re.MULTILINE)
    return ran.returncode, output + ran.stderr


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        status, output = check(ROOT, pages(ROOT), Path(folder))
    print(output, end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
