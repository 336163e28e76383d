"""Builds the Go programs that the compatibility tests of the Device API talk to, once, outside the clone.

They are in tests/device/go, one for each generation of the wire, with h2spec as a tool of that module;
`hack/gobuild.py` has the cache folder and the exit codes.

    python3 hack/device/binaries.py            build what is missing, then print the folder
    python3 hack/device/binaries.py --where    print the folder if it is there, and never build
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this is a script, wherever it is started
from hack.gobuild import Programs

MODULE = Path(__file__).resolve().parents[2] / "tests" / "device" / "go"
GENERATIONS = ("v2", "v3", "v6", "v8")

PROGRAMS = Programs(
    title="the Go programs of the Device API",
    folder="device",
    module=MODULE,
    packages={name: f"./cmd/{name}" for name in GENERATIONS} | {"h2spec": "github.com/summerwind/h2spec/cmd/h2spec"},
    script="hack/device/binaries.py",
)

if __name__ == "__main__":
    PROGRAMS.main()
