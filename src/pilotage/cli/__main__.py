"""`python -m pilotage.cli`: the command without a script on the path."""

import sys

from pilotage.cli import main

if __name__ == "__main__":
    sys.exit(main())
