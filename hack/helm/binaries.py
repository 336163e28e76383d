"""Builds helm, which renders the charts of `pilotage manifests` in tests, once, outside the clone.

python3 hack/helm/binaries.py            build it if it is missing, then print the folder
python3 hack/helm/binaries.py --where    print the folder if it is there, and never build
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this is a script, wherever it is started
from hack.gobuild import Programs

PROGRAMS = Programs(
    title="helm",
    folder="helm",
    module=Path(__file__).resolve().parent,
    packages={"helm": "helm.sh/helm/v3/cmd/helm"},
    script="hack/helm/binaries.py",
)

if __name__ == "__main__":
    PROGRAMS.main()
