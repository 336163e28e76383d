"""Write requirements/dev.lock: every dependency, extra and development tool, pinned with hashes."""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = [line for lines in project["project"]["optional-dependencies"].values() for line in lines]
    wanted = [*project["project"]["dependencies"], *extras, *project["dependency-groups"]["dev"]]
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([environment / "bin/pip", "install", "--quiet", "pip-tools"], check=True)
        source = Path(folder) / "dev.in"
        source.write_text("\n".join(wanted) + "\n")
        options = (
            "--quiet --strip-extras --generate-hashes --no-emit-index-url --no-emit-find-links --no-emit-trusted-host"
        )
        options += " --no-header --no-annotate --allow-unsafe"
        target = ROOT / "requirements" / "dev.lock"
        subprocess.run(
            [environment / "bin/pip-compile", *options.split(), "--output-file", target, source],
            check=True,
        )


main()
