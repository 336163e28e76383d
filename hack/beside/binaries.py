"""Builds the Go programs that benchmarks run beside ours, once, outside the clone.

python3 hack/beside/binaries.py            build what is missing, then print the folder
python3 hack/beside/binaries.py --where    print the folder if it is there, and never build
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this is a script, wherever it is started
from hack.gobuild import Programs

PROGRAMS = Programs(
    title="the Go programs of the benchmarks",
    folder="beside-go",
    module=Path(__file__).resolve().parents[1] / "foreign" / "go",
    packages={name: f"./{name}" for name in ("webhook", "lists", "load")},
    script="hack/beside/binaries.py",
)

if __name__ == "__main__":
    PROGRAMS.main()
