"""Builds the program of the foreign tests that uses client-go and controller-runtime, once, outside the clone.

Beside it are the fixtures of controller-runtime's own tests of envtest, in the folder testdata. `hack/gobuild.py` has
the cache folder and the exit codes.

    python3 hack/foreign/binaries.py            build what is missing, then print the folder
    python3 hack/foreign/binaries.py --where    print the folder if it is there, and never build
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this is a script, wherever it is started
from hack.gobuild import Programs, environment

MODULE = Path(__file__).resolve().parent / "go"
CONTROLLER_RUNTIME = "sigs.k8s.io/controller-runtime"


def add_fixtures(go: str, folder: Path) -> None:
    command = [go, "list", "-m", "-f", "{{.Dir}}", CONTROLLER_RUNTIME]
    answer = subprocess.run(command, cwd=MODULE, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    fixtures = Path(answer.stdout.strip()) / "pkg" / "envtest" / "testdata"
    for file in fixtures.rglob("*.yaml"):
        copy = folder / "testdata" / file.relative_to(fixtures)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())  # without its mode: files of the module cache are read-only


PROGRAMS = Programs(
    title="the Go program of the foreign tests",
    folder="foreign-go",
    module=MODULE,
    packages={"foreign": "."},
    script="hack/foreign/binaries.py",
    add_files=add_fixtures,
)

if __name__ == "__main__":
    PROGRAMS.main()
