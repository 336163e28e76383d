"""Builds a webhook of controller-runtime, once, outside the clone: the benchmark measures it beside ours.

python3 hack/webhook/binaries.py            build it if it is missing, then print the folder
python3 hack/webhook/binaries.py --where    print the folder if it is there, and never build
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this is a script, wherever it is started
from hack.gobuild import Programs

PROGRAMS = Programs(
    title="the webhook of controller-runtime",
    folder="webhook-go",
    module=Path(__file__).resolve().parents[1] / "foreign" / "go",
    packages={"webhook": "./webhook"},
    script="hack/webhook/binaries.py",
)

if __name__ == "__main__":
    PROGRAMS.main()
