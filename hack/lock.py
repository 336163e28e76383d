"""Write requirements/dev.lock (dependencies, extras, development tools), docs.lock (the tools for the site of the
documentation) and foreign.lock (the foreign clients).

Everything is pinned with hashes. A version that a lock file has stays, as long as pyproject.toml allows it.
"""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = """
--quiet --strip-extras --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-trusted-host
--no-header --no-annotate --allow-unsafe
"""


def main() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = pyproject["project"], pyproject["dependency-groups"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([environment / "bin/pip", "install", "--quiet", "pip-tools"], check=True)
        pip_compile = environment / "bin/pip-compile"
        write(pip_compile, "dev.lock", [*project["dependencies"], *extras, *groups["dev"]])
        write(pip_compile, "docs.lock", groups["docs"])
        write(pip_compile, "foreign.lock", groups["foreign"])


def write(pip_compile: Path, name: str, wanted: list[str]) -> None:
    command = [pip_compile, *OPTIONS.split(), "--output-file", ROOT / "requirements" / name, "-"]
    subprocess.run(command, check=True, text=True, input="\n".join(wanted) + "\n")


main()
