"""Build the wheel, the sdist and the list of what they depend on (SBOM), and try them.

Each is installed into an empty environment on each supported Python that is installed, and runs the demo there.

    python hack/dist.py FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from flit_core import buildapi

ROOT = Path(__file__).resolve().parent.parent
SBOM = Path(__file__).with_name("sbom.py")
EXTRAS = "cel,device,etcd,otel,serve,webhook"
"""What the demo and the commands of the package use; the others depend on the machine."""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    # The time of the commit, so that the same commit gives the same bytes.
    os.environ["SOURCE_DATE_EPOCH"] = output("git", "log", "-1", "--format=%ct").strip()
    wheel, sdist = folder / buildapi.build_wheel(str(folder)), folder / buildapi.build_sdist(str(folder))
    pythons = [line.split() for line in output(sys.executable, "hack/pythons.py").splitlines()]
    for version, python in pythons:
        for package in (wheel, sdist):
            with tempfile.TemporaryDirectory() as environment:
                components = attempt(python, package, Path(environment))
                print(f"Python {version}: {package.name} is installed and the demo runs")
    sbom = wheel.with_suffix(".cdx.json")
    sbom.write_text(components)
    for file in (wheel, sdist, sbom):
        print(f"{file}: {file.stat().st_size:,} bytes")


def attempt(python: str, package: Path, environment: Path) -> str:
    """Install a package and run its demo; the SBOM of the environment."""
    subprocess.run([python, "-m", "venv", environment], check=True)
    interpreter = environment / "bin/python"
    subprocess.run(
        [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{package}[{EXTRAS}]"],
        check=True,
    )
    version = output(environment / "bin/pilotage", "--version").split()[-1]
    if version not in package.name:
        raise SystemExit(f"{package.name}: `pilotage --version` prints {version}")
    demo = output(environment / "bin/pilotage", "demo", "--once", cwd=environment)
    if not demo.endswith("Done.\n"):
        raise SystemExit(f"{package.name}: `pilotage demo --once` prints:\n{demo}")
    document = output(interpreter, SBOM, cwd=environment)
    json.loads(document)
    return document


def output(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


main(Path(sys.argv[1]).absolute())
