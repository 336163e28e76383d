"""Builds the suite of a Go operator that uses envtest, once, outside the clone, as a program that runs its tests.

`hack/gobuild.py` has the cache folder and the exit codes.

    python3 hack/envtest/binaries.py            build it if it is missing, then print the folder
    python3 hack/envtest/binaries.py --where    print the folder if it is there, and never build
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this is a script, wherever it is started
from hack.gobuild import Programs

PROGRAMS = Programs(
    title="the Go suite that uses envtest",
    folder="envtest",
    module=Path(__file__).resolve().parent,
    packages={"suite": "."},
    script="hack/envtest/binaries.py",
    command=("test", "-c"),
)

if __name__ == "__main__":
    PROGRAMS.main()
